//! The figures of a short piece of numbers, compiled for each level.
//!
//! A piece fits in the first-level cache, so that it is read several times for little: numbers that
//! are not finite and the extremes first, then the sums, then the histogram.

use super::histogram::{BINS, bin_of};
use crate::simd::accumulate::LANES;
use crate::simd::{self, Isa, Level, Task};

/// Counts of the bins. Neighbours are counted apart, since adding to the same count twice in a row
/// must wait for the first sum.
pub(super) type Counts = [[u32; BINS]; 4];

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

/// The figures of a piece, and its numbers counted; `None`, and nothing counted, if one of them is
/// not finite.
pub(super) fn measure(level: Level, numbers: &[f32], counts: &mut Counts) -> Option<Piece> {
    simd::run(level, Measure { numbers, counts })
}

struct Measure<'a> {
    numbers: &'a [f32],
    counts: &'a mut Counts,
}

/// A number as an integer that sorts as the number does.
#[inline(always)]
fn order(number: f32) -> i32 {
    let bits = number.to_bits().cast_signed();
    bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed()
}

/// The number of an integer that sorts as the number does.
#[inline(always)]
fn number(order: i32) -> f32 {
    let bits = order ^ ((order >> 31).cast_unsigned() >> 1).cast_signed();
    f32::from_bits(bits.cast_unsigned())
}

impl Task for Measure<'_> {
    type Output = Option<Piece>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Option<Piece> {
        let Self { numbers, counts } = self;
        let (mut least, mut most, mut zeros) = (i32::MAX, i32::MIN, 0);
        for &x in numbers {
            let place = order(x);
            least = least.min(place);
            most = most.max(place);
            zeros += u32::from(x.to_bits() << 1 == 0);
        }
        let (min, max) = (number(least), number(most));
        if !min.is_finite() || !max.is_finite() {
            return None;
        }
        let size = min.abs().max(max.abs()).to_bits();
        let is_largest = |x: &f32| u32::from(x.to_bits() & 0x7fff_ffff == size);
        let largest = numbers.iter().map(is_largest).sum();
        let (eights, rest) = numbers.as_chunks();
        let mut sums = isa.one_side(eights);
        for (index, &x) in rest.iter().enumerate() {
            sums.add(index % LANES, x.into());
        }
        let (fours, rest) = numbers.as_chunks::<4>();
        let [first, second, third, fourth] = counts;
        for [a, b, c, d] in fours {
            first[bin_of(*a)] += 1;
            second[bin_of(*b)] += 1;
            third[bin_of(*c)] += 1;
            fourth[bin_of(*d)] += 1;
        }
        rest.iter().for_each(|&x| first[bin_of(x)] += 1);
        let [sum, squares] =
            [sums.sum, sums.squares].map(|lanes| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
        Some(Piece { sum, squares, min, max, zeros, largest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(level: Level, numbers: &[f32]) -> (Option<Piece>, Vec<u32>) {
        let mut counts = Box::new([[0; BINS]; 4]);
        let piece = measure(level, numbers, &mut counts);
        let sum = |bin: usize| counts.iter().map(|part| part[bin]).sum();
        (piece, (0..BINS).map(sum).collect())
    }

    #[test]
    fn every_level_gives_the_same_figures() {
        let number = |i: u32| f32::from_bits(i.wrapping_mul(2_654_435_761) % 0x7f00_0000) - 1.0;
        let mut numbers: Vec<f32> = (0..777).map(number).collect();
        numbers.extend([0.0, -0.0, 1e-45, -3e38, 3e38, 3e38]);
        for len in [1, 2, 7, 8, 9, 31, 700, numbers.len()] {
            let part = &numbers[numbers.len() - len..];
            let wanted = counted(Level::BASELINE, part);
            for &level in Level::available() {
                assert_eq!(counted(level, part), wanted);
            }
            let piece = wanted.0.unwrap();
            assert_eq!(piece.max, part.iter().copied().fold(f32::MIN, f32::max));
            assert_eq!(piece.min, part.iter().copied().fold(f32::MAX, f32::min));
            assert_eq!(wanted.1.iter().sum::<u32>() as usize, len);
        }
    }

    #[test]
    fn what_is_not_finite_is_left_to_others() {
        for other in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let (piece, counts) = counted(Level::BASELINE, &[1.0, other, 2.0]);
            assert_eq!((piece, counts.iter().sum::<u32>()), (None, 0));
        }
    }
}
