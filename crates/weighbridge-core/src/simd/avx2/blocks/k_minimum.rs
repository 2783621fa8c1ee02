//! K types whose values count up from a minimum: blocks of 256, cut into groups that each have a
//! scale and a minimum.

use std::arch::x86_64::*;

use super::spread::{load32, unsigned32};
use crate::simd::avx2::Table16;
use crate::simd::avx2::lanes::is_16_bit;
use crate::simd::{Number, avx2};

/// Eight unsigned bytes, each times its lane of `unit`.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn products(bytes: [u8; 8], unit: __m256) -> [f32; 8] {
    let mut products = [0.0; 8];
    // SAFETY: eight are written.
    unsafe {
        let bytes = _mm_cvtsi64_si128(i64::from_le_bytes(bytes));
        _mm256_storeu_ps(products.as_mut_ptr(), _mm256_mul_ps(avx2::unsigned8(bytes), unit));
    }
    products
}

/// Q2_K.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q2_k<T: Number>(block: &[u8; 84], out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block, everything written in `out`.
    unsafe {
        let at = block.as_ptr();
        // Two groups for each pair of bits. The pairs stay in place: their scales make up for it.
        let down = _mm256_setr_ps(1.0, 1.0, 0.25, 0.25, 0.0625, 0.0625, 0.015_625, 0.015_625);
        let d = _mm256_mul_ps(_mm256_set1_ps(avx2::half(at.add(80))), down);
        let m = _mm256_set1_ps(avx2::half(at.add(82)));
        for half in 0..2 {
            let both = u64::from_le_bytes(at.add(8 * half).cast::<[u8; 8]>().read());
            let nibbles = |bits: u64| (bits & 0x0f0f_0f0f_0f0f_0f0f).to_le_bytes();
            let scales = products(nibbles(both), d);
            let minimums = products(nibbles(both >> 4), m);
            let bytes = load32::<T>(at.add(16 + 32 * half));
            for pair in 0..4 {
                let q =
                    _mm256_and_si256(bytes, _mm256_set1_epi8((3u8 << (2 * pair)).cast_signed()));
                unsigned32(
                    out.as_mut_ptr().add(128 * half + 32 * pair),
                    q,
                    [&scales[2 * pair], &scales[2 * pair + 1]],
                    [&minimums[2 * pair], &minimums[2 * pair + 1]],
                );
            }
        }
    }
}

/// The sixteen numbers that the nibbles of a group can stand for.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn sixteen<T: Number>(scale: &f32, minimum: &f32) -> Table16 {
    let [scale, minimum] = [scale, minimum].map(|one| _mm256_broadcast_ss(one));
    Table16::counted::<T>(|q| _mm256_sub_ps(_mm256_mul_ps(q, scale), minimum))
}

/// Q4_K.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q4_k<T: Number>(block: &[u8; 144], scales: [[u8; 8]; 2], out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block, everything written in `out`.
    unsafe {
        let at = block.as_ptr();
        let [scales, minimums] = scales;
        let scales = products(scales, _mm256_set1_ps(avx2::half(at)));
        let minimums = products(minimums, _mm256_set1_ps(avx2::half(at.add(2))));
        let low = _mm256_set1_epi8(15);
        for pair in 0..4 {
            let bytes = if is_16_bit::<T>() {
                avx2::crossed(_mm256_loadu_si256(at.add(16 + 32 * pair).cast()))
            } else {
                load32::<T>(at.add(16 + 32 * pair))
            };
            let high = _mm256_srli_epi16::<4>(bytes);
            for (group, q) in [(2 * pair, bytes), (2 * pair + 1, high)] {
                let (scale, minimum) = (&scales[group], &minimums[group]);
                let (q, out) = (_mm256_and_si256(q, low), out.as_mut_ptr().add(32 * group));
                if is_16_bit::<T>() {
                    sixteen::<T>(scale, minimum).store_crossed32(out, q);
                } else {
                    unsigned32(out, q, [scale; 2], [minimum; 2]);
                }
            }
        }
    }
}

/// Q5_K.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q5_k<T: Number>(block: &[u8; 176], scales: [[u8; 8]; 2], out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block, everything written in `out`.
    unsafe {
        let at = block.as_ptr();
        let [scales, minimums] = scales;
        let scales = products(scales, _mm256_set1_ps(avx2::half(at)));
        let minimums = products(minimums, _mm256_set1_ps(avx2::half(at.add(2))));
        let (low, fifth) = (_mm256_set1_epi8(15), _mm256_set1_epi8(16));
        let mut fifths = load32::<T>(at.add(16));
        // Each turn moves two of the fifth bits to their place above the nibbles.
        for pair in 0..4 {
            let bytes = load32::<T>(at.add(48 + 32 * pair));
            let even = _mm256_and_si256(_mm256_slli_epi16::<4>(fifths), fifth);
            let odd = _mm256_and_si256(_mm256_slli_epi16::<3>(fifths), fifth);
            let even = _mm256_or_si256(_mm256_and_si256(bytes, low), even);
            let odd = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low), odd);
            for (group, q) in [(2 * pair, even), (2 * pair + 1, odd)] {
                let (scale, minimum) = (&scales[group], &minimums[group]);
                let out = out.as_mut_ptr().add(32 * group);
                unsigned32(out, q, [scale; 2], [minimum; 2]);
            }
            fifths = _mm256_srli_epi16::<2>(fifths);
        }
    }
}
