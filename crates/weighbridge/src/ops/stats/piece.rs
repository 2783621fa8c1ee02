//! The figures of a short piece of numbers, compiled for each level.
//!
//! One pass has the sums, the zeros and the extremes of each block of the piece; a second one looks
//! at those blocks only that have the largest number.

use crate::simd::extent::{BLOCK, Ends, HALF, LANES};
use crate::simd::kernel;

/// The most numbers of a piece: 16 KiB, which stay in the first-level cache.
pub(super) const PIECE: usize = 4096;
const BLOCKS: usize = PIECE / (BLOCK * LANES);

/// What a piece of finite numbers has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) sum: f64,
    pub(super) squares: f64,
    pub(super) min: f32,
    pub(super) max: f32,
    pub(super) zeros: u32,
    /// How many numbers are as large as the largest, whatever their sign.
    pub(super) largest: u32,
}

kernel! {
    /// The figures of a piece of at most [`PIECE`] numbers; `None` if one of them is not finite.
    pub(super) fn measure(isa; numbers: &[f32]) -> Option<Piece> {
        let mut ends = [Ends::NONE; BLOCKS];
        let (sixteens, rest) = numbers.as_chunks::<LANES>();
        let mut all = isa.extent(sixteens, &mut ends);
        let mut last = Ends::NONE;
        for (lane, &x) in rest.iter().enumerate() {
            all.add(lane, x);
            last.add(lane % HALF, x);
        }
        let squares = total(&all.squares);
        // The squares of finite f32 numbers always have room in f64.
        if !squares.is_finite() {
            return None;
        }
        let ends = &ends[..sixteens.len().div_ceil(BLOCK)];
        ends.iter().for_each(|ends| last.merge(ends));
        let (min, max) = last.both();
        let size = min.abs().max(max.abs());
        let count = |numbers: &[f32]| -> u32 {
            numbers.iter().map(|x| u32::from(x.abs().to_bits() == size.to_bits())).sum()
        };
        let mut largest = count(rest);
        for (block, ends) in sixteens.chunks(BLOCK).zip(ends) {
            if ends.reach(size) {
                largest += count(block.as_flattened());
            }
        }
        // Which zero an extreme is depends on the order they are looked at in.
        let (min, max) = (min + 0.0, max + 0.0);
        Some(Piece { sum: total(&all.sum), squares, min, max, zeros: all.zeros, largest })
    }
}

/// The sum of all lanes, in one order.
#[inline(always)]
fn total(lanes: &[f64; LANES]) -> f64 {
    let fours: [f64; 4] =
        std::array::from_fn(|i| (lanes[i] + lanes[i + 4]) + (lanes[i + 8] + lanes[i + 12]));
    (fours[0] + fours[1]) + (fours[2] + fours[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;

    #[test]
    fn every_level_gives_the_same_figures() {
        let number = |i: u32| f32::from_bits(i.wrapping_mul(2_654_435_761) % 0x7f00_0000) - 1.0;
        let mut numbers: Vec<f32> = (0..4090).map(number).collect();
        numbers.extend([0.0, -0.0, 1e-45, -3e38, 3e38, 3e38]);
        for len in [1, 2, 7, 8, 9, 31, 700, 783, numbers.len()] {
            let part = &numbers[numbers.len() - len..];
            let piece = measure(Level::BASELINE, part).unwrap();
            for &level in Level::available() {
                assert_eq!(measure(level, part), Some(piece));
            }
            assert_eq!(piece.max, part.iter().copied().fold(f32::MIN, f32::max));
            assert_eq!(piece.min, part.iter().copied().fold(f32::MAX, f32::min));
            let is = |wanted: f32| part.iter().filter(|x| x.abs() == wanted).count();
            let size = piece.max.max(-piece.min);
            assert_eq!((piece.zeros as usize, piece.largest as usize), (is(0.0), is(size)));
        }
    }

    #[test]
    fn what_is_not_finite_is_left_to_others() {
        for other in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for &level in Level::available() {
                assert_eq!(measure(level, &[1.0, other, 2.0]), None);
                let mut numbers = [1.0; 100];
                numbers[40] = other;
                assert_eq!(measure(level, &numbers), None);
            }
        }
    }

    #[test]
    fn zeros_of_either_sign_are_zero() {
        for numbers in [[0.0, -0.0], [-0.0, 0.0]] {
            for &level in Level::available() {
                let piece = measure(level, &numbers.repeat(20)).unwrap();
                let bits = [piece.min, piece.max].map(f32::to_bits);
                assert_eq!((bits, piece.zeros, piece.largest), ([0, 0], 40, 40));
            }
        }
    }
}
