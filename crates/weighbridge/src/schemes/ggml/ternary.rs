//! Weights of -1, 0 and 1 times one scale.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | TQ1_0 | 32, 16 and 4 bytes of base-3 digits; f16 `d` | (digit - 1) d |
//! | TQ2_0 | twice 32 bytes of 2-bit numbers; f16 `d` | (q - 1) d |
//!
//! A run of bytes holds as many elements for its first digits, then as many for its second
//! digits, and so on: five digits a byte, four in the last 4 bytes. A byte is a fraction of 256
//! whose base-3 digits follow the point: three times it has the first digit above its eight bits
//! and the remaining ones below. In TQ2_0 a run of 32 bytes holds 32 elements in its lowest two
//! bits, 32 in the next two, and so on; nothing writes the number 3, which reads as 2.
#![allow(unsafe_code)] // The AVX2 forms.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use super::four::Four;
use super::kernel::{Blocks, Kernel, half_at, kernel};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Number, avx2};

pub(super) static KERNELS: &[Kernel] = &[kernel::<Tq1_0, 54, 256>(), kernel::<Tq2_0, 66, 256>()];

/// Where the runs of a TQ1_0 block start: in the block, and among the elements.
const SECOND: (usize, usize) = (32, 160);
const THIRD: (usize, usize) = (48, 240);

/// A run of bytes: their first digits, their second digits, and so on.
#[inline(always)]
fn digits_times_scale<const BYTES: usize>(run: &[u8], scale: f32, out: &mut [f32]) {
    let mut rest: [u8; BYTES] = run.as_chunks().0[0];
    for out in out.as_chunks_mut::<BYTES>().0 {
        for (out, rest) in out.iter_mut().zip(&mut rest) {
            let digit = (u16::from(*rest) * 3) >> 8;
            *out = f32::from(digit.cast_signed() - 1) * scale;
            *rest = rest.wrapping_mul(3);
        }
    }
}

/// Bytes with their highest bits turned: of those a signed comparison tells the first digit, and
/// three times them are the remaining digits with their highest bits turned.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn first_digit(turned: __m256i) -> __m256i {
    // SAFETY: registers only.
    unsafe {
        // Three times a byte reaches 256 from 86 on, and 512 from 171 on.
        let one = _mm256_cmpgt_epi8(turned, _mm256_set1_epi8((85u8 ^ 128).cast_signed()));
        let two = _mm256_cmpgt_epi8(turned, _mm256_set1_epi8((170u8 ^ 128).cast_signed()));
        _mm256_abs_epi8(_mm256_add_epi8(one, two))
    }
}

/// What remains of bytes without their first digits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn without_first(bytes: __m256i) -> __m256i {
    // SAFETY: registers only.
    unsafe { _mm256_add_epi8(bytes, _mm256_add_epi8(bytes, bytes)) }
}

/// The third run: four bytes, without none, one, two and three of their digits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn third_run(at: *const u8) -> __m256i {
    // SAFETY: four bytes may be read.
    unsafe {
        let bytes = _mm256_set1_epi32(at.cast::<i32>().read_unaligned());
        let words = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(bytes));
        // Each four words times a power of three; then the lower bytes, at the places asked for.
        let powers = _mm256_setr_epi64x(
            0x0001_0001_0001_0001,
            0x0003_0003_0003_0003,
            0x0009_0009_0009_0009,
            0x001b_001b_001b_001b,
        );
        let products = _mm256_and_si256(_mm256_mullo_epi16(words, powers), _mm256_set1_epi16(255));
        let bytes = _mm256_packus_epi16(products, products);
        _mm256_xor_si256(bytes, _mm256_set1_epi8(-128))
    }
}

struct Tq1_0;

impl Blocks<54, 256> for Tq1_0 {
    const NAME: &'static str = "TQ1_0";

    #[inline(always)]
    fn define(block: &[u8; 54], out: &mut [f32; 256]) {
        let d = half_at(block, 52);
        digits_times_scale::<32>(block, d, &mut out[..SECOND.1]);
        digits_times_scale::<16>(&block[SECOND.0..], d, &mut out[SECOND.1..THIRD.1]);
        digits_times_scale::<4>(&block[THIRD.0..], d, &mut out[THIRD.1..]);
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 54], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block; eight times 32 are written.
        unsafe {
            let (at, out) = (block.as_ptr(), out.as_mut_ptr());
            let values = Four::from_minus_one::<T>(avx2::half(at.add(52)));
            let highest = _mm256_set1_epi8(-128);
            let mut rest = _mm256_xor_si256(avx2::crossed(_mm256_loadu_si256(at.cast())), highest);
            for digit in 0..5 {
                values.store_crossed32(out.add(32 * digit), first_digit(rest));
                rest = without_first(rest);
            }
            // Two digits of the second run at a time; its fifth with all of the third run.
            let second = _mm256_castsi128_si256(_mm_loadu_si128(at.add(SECOND.0).cast()));
            let second = _mm256_permute4x64_epi64::<0b01_01_00_00>(second);
            let second = _mm256_xor_si256(second, highest);
            let mut rest = _mm256_blend_epi32::<0b1100_1100>(second, without_first(second));
            for digits in 0..2 {
                values.store_crossed32(out.add(SECOND.1 + 32 * digits), first_digit(rest));
                rest = without_first(without_first(rest));
            }
            let third = _mm256_blend_epi32::<0b1100_1100>(rest, third_run(at.add(THIRD.0)));
            values.store_crossed32(out.add(SECOND.1 + 64), first_digit(third));
        }
    }
}

struct Tq2_0;

impl Blocks<66, 256> for Tq2_0 {
    const NAME: &'static str = "TQ2_0";

    #[inline(always)]
    fn define(block: &[u8; 66], out: &mut [f32; 256]) {
        let d = half_at(block, 64);
        for (run, out) in block.as_chunks::<32>().0.iter().zip(out.as_chunks_mut::<128>().0) {
            for (shift, out) in [0, 2, 4, 6].into_iter().zip(out.as_chunks_mut::<32>().0) {
                for (out, byte) in out.iter_mut().zip(run) {
                    *out = f32::from((byte >> shift & 3).cast_signed() - 1) * d;
                }
            }
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 66], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block; twice four times 32 are written.
        unsafe {
            let (at, out) = (block.as_ptr(), out.as_mut_ptr());
            let values = Four::from_minus_one::<T>(avx2::half(at.add(64)));
            for run in 0..2 {
                let mut bytes = avx2::crossed(_mm256_loadu_si256(at.add(32 * run).cast()));
                let out = out.add(128 * run);
                for plane in 0..4 {
                    let indices = _mm256_and_si256(bytes, _mm256_set1_epi8(3));
                    values.store_crossed32(out.add(32 * plane), indices);
                    bytes = _mm256_srli_epi16::<2>(bytes);
                }
            }
        }
    }
}
