//! Squares of a matrix, transposed in registers.

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
                if is_16_bit::<T>() {
                    square_of_words(from.cast(), from_stride, to.cast(), to_stride);
                } else {
                    square_of_singles(from.cast(), from_stride, to.cast(), to_stride);
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
    // SAFETY: the caller's promise is passed on.
    unsafe {
        for left in [0, 4] {
            let columns = four_columns(|row| from.add(row * from_stride + left).cast());
            for (index, column) in columns.into_iter().enumerate() {
                _mm256_storeu_si256(to.add((left + index) * to_stride).cast(), column);
            }
        }
    }
}

/// Four columns of eight rows of words, each column in one register; reads sixteen bytes of each
/// row.
///
/// Rows four apart share a register from the start, so no word ever crosses its halves.
///
/// # Safety
///
/// Sixteen bytes may be read from each row. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn four_columns(row: impl Fn(usize) -> *const u8) -> [__m256i; 4] {
    // SAFETY: the caller provides sixteen bytes of each row.
    unsafe {
        let half = |index: usize| _mm_loadu_si128(row(index).cast());
        let pair = |index: usize| _mm256_set_m128i(half(index + 4), half(index));
        let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3));
        let (low_ab, high_ab) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
        let (low_cd, high_cd) = (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
        [
            _mm256_unpacklo_epi64(low_ab, low_cd),
            _mm256_unpackhi_epi64(low_ab, low_cd),
            _mm256_unpacklo_epi64(high_ab, high_cd),
            _mm256_unpackhi_epi64(high_ab, high_cd),
        ]
    }
}
