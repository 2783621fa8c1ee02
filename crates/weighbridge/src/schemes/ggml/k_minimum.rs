//! K types whose values are counted up from a minimum: blocks of 256, cut into groups that have
//! a scale and a minimum of their own, both small integers times one f16 of the block.
//!
//! | type | bytes of a block | groups | value |
//! |---|---|---|---|
//! | Q2_K | 16 of scales, 64 of `q`; f16 `d`, f16 `m` | 16 | (d scale) q - m minimum |
//! | Q4_K | f16 `d`, f16 `m`; 12 of scales, 128 of `q` | 32 | the same |
//! | Q5_K | f16 `d`, f16 `m`; 12 of scales, 32 of fifth bits, 128 of `q` | 32 | the same |
//!
//! Q2_K: a byte of scales is one group's scale (low nibble) and minimum (high nibble). 32 bytes of
//! `q` hold 128 elements: the lowest two bits of each the first 32, the highest two the last 32.
//!
//! Q4_K, Q5_K: 32 bytes of `q` hold 64 elements: the low nibbles the first 32, the high nibbles
//! the others. Bit `g` of fifth-bit byte `i` belongs to element `i` of group `g`. The 12 bytes
//! hold eight scales and eight minimums of six bits each:
//!
//! ```text
//! byte     0 ..  3   scale 0 ..  3    and above them the upper two bits of scale   4 .. 7
//!          4 ..  7   minimum 0 .. 3   and above them the upper two bits of minimum 4 .. 7
//!          8 .. 11   lower four bits of scale 4 .. 7, above them those of minimum 4 .. 7
//! ```
#![allow(unsafe_code)] // The AVX2 forms.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::kernel::{Blocks, Kernel, half_at, kernel};
#[cfg(target_arch = "x86_64")]
use super::spread::{load32, unsigned32};
#[cfg(target_arch = "x86_64")]
use crate::simd::avx2::Table16;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Number, avx2};

pub(super) static KERNELS: &[Kernel] =
    &[kernel::<Q2_K, 84, 256>(), kernel::<Q4_K, 144, 256>(), kernel::<Q5_K, 176, 256>()];

/// The eight scales and eight minimums in twelve bytes.
#[inline(always)]
fn six_bits(bytes: &[u8]) -> [[u8; 8]; 2] {
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (scales, minimums, lower) = (word(0), word(4), word(8));
    let first = |word: u32| u64::from(word & 0x3f3f_3f3f);
    let last =
        |lower: u32, upper: u32| u64::from(lower & 0x0f0f_0f0f | upper >> 2 & 0x3030_3030) << 32;
    [
        (first(scales) | last(lower, scales)).to_le_bytes(),
        (first(minimums) | last(lower >> 4, minimums)).to_le_bytes(),
    ]
}

/// Eight unsigned bytes, times `unit`, one for each lane.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn products(bytes: [u8; 8], unit: __m256) -> [f32; 8] {
    let mut products = [0.0; 8];
    // SAFETY: eight are written.
    unsafe {
        let bytes = _mm_cvtsi64_si128(i64::from_le_bytes(bytes));
        _mm256_storeu_ps(products.as_mut_ptr(), _mm256_mul_ps(avx2::unsigned8(bytes), unit));
    }
    products
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q2_K;

impl Blocks<84, 256> for Q2_K {
    const NAME: &'static str = "Q2_K";

    #[inline(always)]
    fn define(block: &[u8; 84], out: &mut [f32; 256]) {
        let (d, m) = (half_at(block, 80), half_at(block, 82));
        for (group, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let scale = d * f32::from(block[group] & 15);
            let minimum = m * f32::from(block[group] >> 4);
            let bytes = &block[16 + group / 8 * 32 + group % 2 * 16..][..16];
            let shift = group / 2 % 4 * 2;
            for (out, byte) in out.iter_mut().zip(bytes) {
                *out = scale * f32::from(byte >> shift & 3) - minimum;
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 84], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block, everything written in `out`.
        unsafe {
            let at = block.as_ptr();
            // Two groups for each pair of bits, which stay at their place in the byte.
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
                    let q = _mm256_and_si256(
                        bytes,
                        _mm256_set1_epi8((3u8 << (2 * pair)).cast_signed()),
                    );
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
}

/// The sixteen numbers that a group of nibbles can be.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn sixteen<T: Number>(scale: &f32, minimum: &f32) -> Table16 {
    // SAFETY: registers only.
    unsafe {
        let [scale, minimum] = [scale, minimum].map(|one| _mm256_broadcast_ss(one));
        let value = |q| _mm256_sub_ps(_mm256_mul_ps(q, scale), minimum);
        let low = _mm256_setr_ps(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0);
        let high = _mm256_setr_ps(8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0);
        Table16::new::<T>(value(low), value(high))
    }
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q4_K;

impl Blocks<144, 256> for Q4_K {
    const NAME: &'static str = "Q4_K";

    #[inline(always)]
    fn define(block: &[u8; 144], out: &mut [f32; 256]) {
        let (d, m) = (half_at(block, 0), half_at(block, 2));
        let [scales, minimums] = six_bits(&block[4..16]);
        for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let scale = d * f32::from(scales[group]);
            let minimum = m * f32::from(minimums[group]);
            let bytes = &block[16 + group / 2 * 32..][..32];
            let shift = group % 2 * 4;
            for (out, byte) in out.iter_mut().zip(bytes) {
                *out = scale * f32::from(byte >> shift & 15) - minimum;
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 144], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block, everything written in `out`.
        unsafe {
            let at = block.as_ptr();
            let [scales, minimums] = six_bits(&block[4..16]);
            let scales = products(scales, _mm256_set1_ps(avx2::half(at)));
            let minimums = products(minimums, _mm256_set1_ps(avx2::half(at.add(2))));
            let low = _mm256_set1_epi8(15);
            for pair in 0..4 {
                let bytes = if T::IS_16_BIT {
                    avx2::crossed(_mm256_loadu_si256(at.add(16 + 32 * pair).cast()))
                } else {
                    load32::<T>(at.add(16 + 32 * pair))
                };
                let high = _mm256_srli_epi16::<4>(bytes);
                for (group, q) in [(2 * pair, bytes), (2 * pair + 1, high)] {
                    let (scale, minimum) = (&scales[group], &minimums[group]);
                    let (q, out) = (_mm256_and_si256(q, low), out.as_mut_ptr().add(32 * group));
                    if T::IS_16_BIT {
                        sixteen::<T>(scale, minimum).store_crossed32(out, q);
                    } else {
                        unsigned32(out, q, [scale; 2], [minimum; 2]);
                    }
                }
            }
        }
    }
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q5_K;

impl Blocks<176, 256> for Q5_K {
    const NAME: &'static str = "Q5_K";

    #[inline(always)]
    fn define(block: &[u8; 176], out: &mut [f32; 256]) {
        let (d, m) = (half_at(block, 0), half_at(block, 2));
        let [scales, minimums] = six_bits(&block[4..16]);
        let fifths = &block[16..48];
        for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let scale = d * f32::from(scales[group]);
            let minimum = m * f32::from(minimums[group]);
            let bytes = &block[48 + group / 2 * 32..][..32];
            let shift = group % 2 * 4;
            for ((out, byte), fifth) in out.iter_mut().zip(bytes).zip(fifths) {
                let q = byte >> shift & 15 | (fifth >> group & 1) << 4;
                *out = scale * f32::from(q) - minimum;
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 176], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block, everything written in `out`.
        unsafe {
            let at = block.as_ptr();
            let [scales, minimums] = six_bits(&block[4..16]);
            let scales = products(scales, _mm256_set1_ps(avx2::half(at)));
            let minimums = products(minimums, _mm256_set1_ps(avx2::half(at.add(2))));
            let (low, fifth) = (_mm256_set1_epi8(15), _mm256_set1_epi8(16));
            let mut fifths = load32::<T>(at.add(16));
            // Two of the fifth bits come to their place, above the nibbles, with each turn.
            for pair in 0..4 {
                let bytes = load32::<T>(at.add(48 + 32 * pair));
                let even = _mm256_and_si256(_mm256_slli_epi16::<4>(fifths), fifth);
                let odd = _mm256_and_si256(_mm256_slli_epi16::<3>(fifths), fifth);
                let even = _mm256_or_si256(_mm256_and_si256(bytes, low), even);
                let odd =
                    _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low), odd);
                for (group, q) in [(2 * pair, even), (2 * pair + 1, odd)] {
                    let (scale, minimum) = (&scales[group], &minimums[group]);
                    let out = out.as_mut_ptr().add(32 * group);
                    unsigned32(out, q, [scale; 2], [minimum; 2]);
                }
                fifths = _mm256_srli_epi16::<2>(fifths);
            }
        }
    }
}
