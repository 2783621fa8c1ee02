//! K types whose values lie around zero: blocks of 256. Q3_K and Q6_K cut them into groups of 16
//! that each have a signed scale.

use std::arch::x86_64::*;

use super::spread::{SIGNED, load32, signed32};
use crate::simd::avx2::lanes::weaves;
use crate::simd::{Number, avx2};

/// Sixteen signed scales times `unit`.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn products(scales: __m128i, unit: f32) -> [f32; 16] {
    let mut products = [0.0; 16];
    // SAFETY: sixteen are written.
    unsafe { avx2::scaled16(products.as_mut_ptr(), scales, _mm256_set1_ps(unit)) }
    products
}

/// Q3_K.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q3_k<T: Number>(block: &[u8; 110], scales: [u8; 16], out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block, everything written in `out`.
    unsafe {
        let at = block.as_ptr();
        let scales = _mm_sub_epi8(_mm_loadu_si128(scales.as_ptr().cast()), _mm_set1_epi8(32));
        // A signed number of three bits at the top of a byte: its sign is the third bit,
        // inverted, and it is 32 times too large.
        let scales = products(scales, avx2::half(at.add(108)) * (SIGNED / 32.0));
        let (sign, rest) = (_mm256_set1_epi8(-128), _mm256_set1_epi8(0x60));
        let mut signs = _mm256_xor_si256(load32::<T>(at), _mm256_set1_epi8(-1));
        for half in 0..2 {
            let bytes = load32::<T>(at.add(32 + 32 * half));
            for (pair, q) in [
                _mm256_slli_epi16::<5>(bytes),
                _mm256_slli_epi16::<3>(bytes),
                _mm256_slli_epi16::<1>(bytes),
                _mm256_srli_epi16::<1>(bytes),
            ]
            .into_iter()
            .enumerate()
            {
                let sign = _mm256_and_si256(_mm256_slli_epi16::<7>(signs), sign);
                let q = _mm256_or_si256(_mm256_and_si256(q, rest), sign);
                let group = 8 * half + 2 * pair;
                let out = out.as_mut_ptr().add(16 * group);
                signed32(out, q, [&scales[group], &scales[group + 1]]);
                signs = _mm256_srli_epi16::<1>(signs);
            }
        }
    }
}

/// Q6_K.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q6_k<T: Number>(block: &[u8; 210], out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block, everything written in `out`.
    unsafe {
        let at = block.as_ptr();
        // A signed number of six bits at the top of a byte: its sign is the highest bit,
        // inverted, and it is 4 times too large.
        let scales = _mm_loadu_si128(at.add(192).cast());
        let scales = products(scales, avx2::half(at.add(208)) * (SIGNED / 4.0));
        let (top, rest) = (_mm256_set1_epi8(-64), _mm256_set1_epi8(0x3c));
        for half in 0..2 {
            let [first, last] = [0, 32].map(|start| load32::<T>(at.add(64 * half + start)));
            let signs = _mm256_set1_epi8(0xaa_u8.cast_signed());
            let upper = _mm256_xor_si256(load32::<T>(at.add(128 + 32 * half)), signs);
            for (pair, (lower, upper)) in [
                (_mm256_slli_epi16::<2>(first), _mm256_slli_epi16::<6>(upper)),
                (_mm256_slli_epi16::<2>(last), _mm256_slli_epi16::<4>(upper)),
                (_mm256_srli_epi16::<2>(first), _mm256_slli_epi16::<2>(upper)),
                (_mm256_srli_epi16::<2>(last), upper),
            ]
            .into_iter()
            .enumerate()
            {
                let (lower, upper) = (_mm256_and_si256(lower, rest), _mm256_and_si256(upper, top));
                let group = 8 * half + 2 * pair;
                let out = out.as_mut_ptr().add(16 * group);
                let q = _mm256_or_si256(lower, upper);
                signed32(out, q, [&scales[group], &scales[group + 1]]);
            }
        }
    }
}

/// Q8_K.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q8_k<T: Number>(block: &[u8; 292], scale: f32, out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block, everything written in `out`.
    unsafe {
        let scale = _mm256_set1_ps(scale);
        for start in (0..256).step_by(16) {
            let bytes = _mm_loadu_si128(block.as_ptr().add(4 + start).cast());
            let out = out.as_mut_ptr().add(start);
            if weaves::<T>() {
                avx2::scaled_words16(out, _mm256_cvtepi8_epi16(bytes), scale);
            } else {
                avx2::scaled16(out, bytes, scale);
            }
        }
    }
}
