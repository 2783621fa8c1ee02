//! K types whose values lie around zero: blocks of 256, cut into groups of 16 that have a signed
//! scale of their own, a small integer times one number of the block. (Q8_K has that number only.)
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | Q3_K | 32 of third bits, 64 of `q`, 12 of scales; f16 `d` | (d (scale - 32)) (q - 4) |
//! | Q6_K | 128 of `ql`, 64 of `qh`, 16 signed scales; f16 `d` | (d scale) (q - 32) |
//! | Q8_K | f32 `d`; 256 signed bytes, 16 sums of them as i16 | d q |
//!
//! Q3_K: 32 bytes of `q` hold the lower two bits of 128 elements: the lowest two bits of each the
//! first 32, the highest two the last 32. Bit `n` of third-bit byte `i` belongs to element
//! `32 n + i`. The 12 bytes hold sixteen scales of six bits:
//!
//! ```text
//! byte  0 .. 7    lower four bits of scale 0 .. 7, above them those of scale 8 .. 15
//!       8 .. 11   upper two bits of scale 0 .. 3, above them those of 4 .. 7, 8 .. 11, 12 .. 15
//! ```
//!
//! Q6_K: 64 bytes of `ql` hold the lower four bits of 128 elements, the low nibbles the first 64;
//! 32 bytes of `qh` hold their upper two, in the manner of Q3_K.
#![allow(unsafe_code)] // The AVX2 forms.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::kernel::{Blocks, Kernel, half_at, kernel};
#[cfg(target_arch = "x86_64")]
use super::spread::{SIGNED, load32, signed32};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Number, avx2};

pub(super) static KERNELS: &[Kernel] =
    &[kernel::<Q3_K, 110, 256>(), kernel::<Q6_K, 210, 256>(), kernel::<Q8_K, 292, 256>()];

/// Sixteen signed scales times `unit`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn products(scales: __m128i, unit: f32) -> [f32; 16] {
    let mut products = [0.0; 16];
    // SAFETY: sixteen are written.
    unsafe { avx2::scaled16(products.as_mut_ptr(), scales, _mm256_set1_ps(unit)) }
    products
}

/// The sixteen scales in twelve bytes, not yet signed.
#[inline(always)]
fn six_bits(bytes: &[u8]) -> [u8; 16] {
    let mut scales = [0; 16];
    for (index, scale) in scales.iter_mut().enumerate() {
        let lower = bytes[index % 8] >> (index / 8 * 4) & 15;
        let upper = bytes[8 + index % 4] >> (index / 4 * 2) & 3;
        *scale = lower | upper << 4;
    }
    scales
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q3_K;

impl Blocks<110, 256> for Q3_K {
    const NAME: &'static str = "Q3_K";

    #[inline(always)]
    fn define(block: &[u8; 110], out: &mut [f32; 256]) {
        let d = half_at(block, 108);
        let scales = six_bits(&block[96..108]);
        for (group, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let scale = d * (f32::from(scales[group]) - 32.0);
            let bytes = &block[32 + group / 8 * 32 + group % 2 * 16..][..16];
            let thirds = &block[group % 2 * 16..][..16];
            let shift = group / 2 % 4 * 2;
            for ((out, byte), third) in out.iter_mut().zip(bytes).zip(thirds) {
                let q = byte >> shift & 3 | (third >> (group / 2) & 1) << 2;
                *out = scale * (f32::from(q) - 4.0);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 110], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block, everything written in `out`.
        unsafe {
            let at = block.as_ptr();
            let scales = six_bits(&block[96..108]);
            let scales = _mm_sub_epi8(_mm_loadu_si128(scales.as_ptr().cast()), _mm_set1_epi8(32));
            // A signed number of three bits at the top of a byte: its sign is the third bit,
            // turned round, and it is too large by 32.
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
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q6_K;

impl Blocks<210, 256> for Q6_K {
    const NAME: &'static str = "Q6_K";

    #[inline(always)]
    fn define(block: &[u8; 210], out: &mut [f32; 256]) {
        let d = half_at(block, 208);
        for (group, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let scale = d * f32::from(block[192 + group].cast_signed());
            let lower = &block[group / 8 * 64 + group % 4 * 16..][..16];
            let upper = &block[128 + group / 8 * 32 + group % 2 * 16..][..16];
            let (nibble, pair) = (group / 4 % 2 * 4, group / 2 % 4 * 2);
            for ((out, lower), upper) in out.iter_mut().zip(lower).zip(upper) {
                let q = lower >> nibble & 15 | (upper >> pair & 3) << 4;
                *out = scale * (f32::from(q) - 32.0);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 210], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block, everything written in `out`.
        unsafe {
            let at = block.as_ptr();
            // A signed number of six bits at the top of a byte: its sign is the highest bit,
            // turned round, and it is too large by 4.
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
                    let (lower, upper) =
                        (_mm256_and_si256(lower, rest), _mm256_and_si256(upper, top));
                    let group = 8 * half + 2 * pair;
                    let out = out.as_mut_ptr().add(16 * group);
                    let q = _mm256_or_si256(lower, upper);
                    signed32(out, q, [&scales[group], &scales[group + 1]]);
                }
            }
        }
    }
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q8_K;

/// The block's scale; NaN is made the plain one, as `half_at` does.
#[inline(always)]
fn single_at(block: &[u8; 292]) -> f32 {
    let d = f32::from_le_bytes([block[0], block[1], block[2], block[3]]);
    if d.is_nan() { f32::NAN } else { d }
}

impl Blocks<292, 256> for Q8_K {
    const NAME: &'static str = "Q8_K";

    #[inline(always)]
    fn define(block: &[u8; 292], out: &mut [f32; 256]) {
        let d = single_at(block);
        for (out, byte) in out.iter_mut().zip(&block[4..260]) {
            *out = d * f32::from(byte.cast_signed());
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 292], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block, everything written in `out`.
        unsafe {
            let scale = _mm256_set1_ps(single_at(block));
            for start in (0..256).step_by(16) {
                let bytes = _mm_loadu_si128(block.as_ptr().add(4 + start).cast());
                let out = out.as_mut_ptr().add(start);
                if T::WEAVES {
                    avx2::scaled_words16(out, _mm256_cvtepi8_epi16(bytes), scale);
                } else {
                    avx2::scaled16(out, bytes, scale);
                }
            }
        }
    }
}
