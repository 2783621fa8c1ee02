//! Squares of a matrix, transposed in registers.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::slices::prefetch;
use crate::simd::avx2::lanes::is_16_bit;
use crate::simd::{Number, Sides};

/// Transposes all whole squares of eight by eight; returns how many rows and columns they cover.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn squares<T: Number>(sides: Sides, from: &[T], to: &mut [T]) -> (usize, usize) {
    let Sides { rows, columns, from: from_stride, to: to_stride } = sides;
    if rows == 0 || columns == 0 {
        return (0, 0);
    }
    assert!((rows - 1) * from_stride + columns <= from.len());
    assert!((columns - 1) * to_stride + rows <= to.len());
    let (from, to) = (from.as_ptr(), to.as_mut_ptr());
    for column in (0..columns / 8 * 8).step_by(8) {
        for next in column + 8..columns.min(column + 16) {
            // SAFETY: inside the matrix that is written.
            let row = unsafe { std::slice::from_raw_parts(to.add(next * to_stride), rows) };
            prefetch(row);
        }
        for row in (0..rows / 8 * 8).step_by(8) {
            // SAFETY: the square lies in both matrices.
            unsafe {
                let from = from.add(row * from_stride + column);
                let to = to.add(column * to_stride + row);
                match is_16_bit::<T>() {
                    true => square_of_words(from.cast(), from_stride, to.cast(), to_stride),
                    false => square_of_singles(from.cast(), from_stride, to.cast(), to_stride),
                }
            }
        }
    }
    (rows / 8 * 8, columns / 8 * 8)
}

/// Eight by eight words of sixteen bits.
///
/// # Safety
///
/// Eight rows of eight may be read from `from` and written to `to`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn square_of_words(from: *const u16, from_stride: usize, to: *mut u16, to_stride: usize) {
    // SAFETY: eight rows of eight are read and written.
    unsafe {
        let row = |index: usize| _mm_loadu_si128(from.add(index * from_stride).cast());
        let pairs = |a: __m128i, b: __m128i| [_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)];
        let fours = |a: __m128i, b: __m128i| [_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)];
        let eights = |a: __m128i, b: __m128i| [_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)];
        let [a, b] = pairs(row(0), row(1));
        let [c, d] = pairs(row(2), row(3));
        let [e, f] = pairs(row(4), row(5));
        let [g, h] = pairs(row(6), row(7));
        let [[ac, ac_high], [bd, bd_high]] = [fours(a, c), fours(b, d)];
        let [[eg, eg_high], [fh, fh_high]] = [fours(e, g), fours(f, h)];
        let put = |index: usize, [first, second]: [__m128i; 2]| {
            _mm_storeu_si128(to.add(index * to_stride).cast(), first);
            _mm_storeu_si128(to.add((index + 1) * to_stride).cast(), second);
        };
        put(0, eights(ac, eg));
        put(2, eights(ac_high, eg_high));
        put(4, eights(bd, fh));
        put(6, eights(bd_high, fh_high));
    }
}

/// Eight by eight words of 32 bits.
///
/// # Safety
///
/// Eight rows of eight may be read from `from` and written to `to`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn square_of_singles(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
    // SAFETY: eight rows of eight are read and written.
    unsafe {
        // Join halves of two rows four apart, so that everything else stays within halves.
        let half = |row: usize, half: usize| {
            let at = |row: usize| from.add(row * from_stride + 4 * half);
            _mm256_insertf128_ps::<1>(
                _mm256_castps128_ps256(_mm_loadu_ps(at(row))),
                _mm_loadu_ps(at(row + 4)),
            )
        };
        for left in 0..2 {
            let [a, b, c, d] = [0, 1, 2, 3].map(|row| half(row, left));
            let [ab, cd] = [_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d)];
            let [ab_high, cd_high] = [_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d)];
            let columns = [
                _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd),
                _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd),
                _mm256_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high),
                _mm256_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high),
            ];
            for (index, column) in columns.into_iter().enumerate() {
                _mm256_storeu_ps(to.add((4 * left + index) * to_stride), column);
            }
        }
    }
}
