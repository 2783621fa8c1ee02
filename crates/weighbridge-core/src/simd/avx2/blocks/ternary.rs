//! Weights of -1, 0 and 1 times one scale.

use std::arch::x86_64::*;

use super::four::Four;
use crate::simd::{Number, avx2};

/// Where the second run of a TQ1_0 block starts in the block and among the elements; then where
/// the third starts in the block.
const SECOND: (usize, usize) = (32, 160);
const THIRD: usize = 48;

/// The first digits of bytes whose highest bits are inverted, so that signed comparisons find
/// them. Three times such a byte is its remaining digits, with the highest bit inverted again.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn first_digit(turned: __m256i) -> __m256i {
    // Three times a byte reaches 256 at 86, and 512 at 171.
    let one = _mm256_cmpgt_epi8(turned, _mm256_set1_epi8((85u8 ^ 128).cast_signed()));
    let two = _mm256_cmpgt_epi8(turned, _mm256_set1_epi8((170u8 ^ 128).cast_signed()));
    _mm256_abs_epi8(_mm256_add_epi8(one, two))
}

/// Bytes with their first digits removed.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn without_first(bytes: __m256i) -> __m256i {
    _mm256_add_epi8(bytes, _mm256_add_epi8(bytes, bytes))
}

/// The third run: four bytes with none, one, two and three of their digits removed.
///
/// # Safety
///
/// Four bytes may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn third_run(at: *const u8) -> __m256i {
    // SAFETY: four bytes may be read.
    unsafe {
        let bytes = _mm256_set1_epi32(at.cast::<i32>().read_unaligned());
        let words = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(bytes));
        // Multiply each four words by a power of three; then pack the lower bytes.
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

/// TQ1_0.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn tq1_0<T: Number>(block: &[u8; 54], out: &mut [T; 256]) {
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
        // Two digits of the second run at a time; its fifth together with all of the third run.
        let second = _mm256_castsi128_si256(_mm_loadu_si128(at.add(SECOND.0).cast()));
        let second = _mm256_permute4x64_epi64::<0b01_01_00_00>(second);
        let second = _mm256_xor_si256(second, highest);
        let mut rest = _mm256_blend_epi32::<0b1100_1100>(second, without_first(second));
        for digits in 0..2 {
            values.store_crossed32(out.add(SECOND.1 + 32 * digits), first_digit(rest));
            rest = without_first(without_first(rest));
        }
        let third = _mm256_blend_epi32::<0b1100_1100>(rest, third_run(at.add(THIRD)));
        values.store_crossed32(out.add(SECOND.1 + 64), first_digit(third));
    }
}

/// TQ2_0.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn tq2_0<T: Number>(block: &[u8; 66], out: &mut [T; 256]) {
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
