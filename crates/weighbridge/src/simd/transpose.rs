//! Turning small matrices, so that what is stored by columns can be written by rows.
#![allow(unsafe_code)]

use super::{Level, Number, Set, prefetch};

/// A matrix that lies somewhere in a slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    /// Rows of the matrix that is read: columns of the one that is written.
    pub rows: usize,
    /// Columns of the matrix that is read.
    pub columns: usize,
    /// From a row to the next, where it is read.
    pub from: usize,
    /// From a row to the next, where it is written.
    pub to: usize,
}

/// Writes `from[r * sides.from + c]` to `to[c * sides.to + r]`.
pub(crate) fn transpose<T: Number>(level: Level, sides: Sides, from: &[T], to: &mut [T]) {
    let Sides { rows, columns, .. } = sides;
    if rows == 0 || columns == 0 {
        return;
    }
    let from = &from[..(rows - 1) * sides.from + columns];
    let to = &mut to[..(columns - 1) * sides.to + rows];
    let (whole_rows, whole_columns) = match level.set() {
        // SAFETY: a level is only ever one that the CPU has; both slices hold the matrix.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe {
            eights(level, sides, from.as_ptr(), to.as_mut_ptr());
            (rows / 8 * 8, columns / 8 * 8)
        },
        _ => (0, 0),
    };
    for row in 0..rows {
        let done = if row < whole_rows { whole_columns } else { 0 };
        for column in done..columns {
            to[column * sides.to + row] = from[row * sides.from + column];
        }
    }
}

/// All whole squares of eight by eight.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn eights<T: Number>(level: Level, sides: Sides, from: *const T, to: *mut T) {
    let Sides { rows, columns, from: from_stride, to: to_stride } = sides;
    for column in (0..columns / 8 * 8).step_by(8) {
        for next in column + 8..columns.min(column + 16) {
            // SAFETY: inside the matrix that is written.
            let row = unsafe { std::slice::from_raw_parts(to.add(next * to_stride), rows) };
            prefetch(level, row);
        }
        for row in (0..rows / 8 * 8).step_by(8) {
            // SAFETY: the square lies in both matrices.
            unsafe {
                let from = from.add(row * from_stride + column);
                let to = to.add(column * to_stride + row);
                match T::IS_16_BIT {
                    true => square_of_words(from.cast(), from_stride, to.cast(), to_stride),
                    false => square_of_singles(from.cast(), from_stride, to.cast(), to_stride),
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn square_of_words(from: *const u16, from_stride: usize, to: *mut u16, to_stride: usize) {
    use std::arch::x86_64::*;
    // SAFETY: eight rows of eight are read, and written.
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

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn square_of_singles(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
    use std::arch::x86_64::*;
    // SAFETY: eight rows of eight are read, and written.
    unsafe {
        // Halves of two rows that lie four apart, so that everything else stays within halves.
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

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;

    fn check<T: Number + PartialEq + std::fmt::Debug>(number: impl Fn(usize) -> T) {
        for (rows, columns) in [(0, 3), (1, 1), (8, 8), (9, 17), (64, 32), (33, 7), (5, 40)] {
            let sides = Sides { rows, columns, from: columns + 3, to: rows + 5 };
            let from: Vec<T> = (0..rows * (columns + 3)).map(&number).collect();
            for &level in Level::available() {
                let mut to = vec![T::default(); columns * (rows + 5)];
                transpose(level, sides, &from, &mut to);
                for (index, found) in to.iter().enumerate() {
                    let (column, row) = (index / sides.to, index % sides.to);
                    let inside = row < rows;
                    let wanted =
                        if inside { from[row * sides.from + column] } else { T::default() };
                    assert_eq!(*found, wanted, "{level:?} {rows} x {columns}: {column}, {row}");
                }
            }
        }
    }

    #[test]
    fn every_element_lands_in_its_place_and_nothing_else_is_touched() {
        check::<f32>(|index| index as f32 + 1.0);
        check::<bf16>(|index| bf16::from_bits(u16::try_from(index).unwrap() + 1));
    }
}
