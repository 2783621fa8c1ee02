//! What encoding costs: every tile is decoded again while it is in the cache, and compared.

use std::ops::Range;

use crate::schemes::{Decoded, SameLevels};
use crate::simd::{self, Isa, Task};

/// Lanes of the sums, which are added up in one order, whatever the CPU.
const LANES: usize = 8;

/// Numbers that are added up before their sum goes into the tile's.
const PIECE: usize = 4096;

/// What was lost of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// How many there are.
    pub elements: u64,
    /// The sum of their squares.
    pub squares: f64,
    /// The sum of the squared errors.
    pub squared_errors: f64,
    /// The largest error.
    pub largest: f64,
    /// The largest error in steps between levels, where these are known.
    pub steps: Option<f32>,
    /// Numbers more than half a step beyond the outermost level, where levels are known.
    pub clipped: Option<u64>,
    /// Numbers that became zero and were not.
    pub flushed: u64,
    /// Numbers that are NaN or infinite, before or after. The sums leave them out.
    pub non_finite: u64,
}

impl Cost {
    /// Adds that of other numbers.
    pub fn plus(&mut self, other: &Self) {
        if self.elements == 0 {
            *self = *other;
            return;
        }
        self.elements += other.elements;
        self.squares += other.squares;
        self.squared_errors += other.squared_errors;
        self.largest = self.largest.max(other.largest);
        self.steps = self.steps.zip(other.steps).map(|(a, b)| a.max(b));
        self.clipped = self.clipped.zip(other.clipped).map(|(a, b)| a + b);
        self.flushed += other.flushed;
        self.non_finite += other.non_finite;
    }

    /// That of some numbers and what they were decoded to.
    pub(super) fn of(values: &[f32], decoded: &Decoded) -> Self {
        let Decoded { numbers: decoded, levels } = decoded;
        let level = simd::level();
        let mut cost = Self::default();
        for (values, decoded) in values.chunks(PIECE).zip(decoded.chunks(PIECE)) {
            let piece = simd::run(level, Errors { values, decoded });
            // Rare enough to look at each number again.
            let is_finite = (piece.squares + piece.squared_errors).is_finite();
            cost.plus(&if is_finite { piece } else { with_non_finite(values, decoded) });
        }
        if !levels.is_empty() {
            let (steps, clipped) = simd::run(level, Steps { values, decoded, levels });
            (cost.steps, cost.clipped) = (Some(steps), Some(clipped));
        }
        cost
    }

    /// The signal-to-noise ratio in decibels; `None` if nothing was lost, if there is no signal, or
    /// if numbers are not finite.
    pub fn snr_db(&self) -> Option<f64> {
        let is_lossy = self.squared_errors > 0.0 && self.squares > 0.0 && self.non_finite == 0;
        is_lossy.then(|| 10.0 * (self.squares / self.squared_errors).log10())
    }

    /// The norm of the errors over the norm of the numbers; `None` if there is no signal, or if
    /// numbers are not finite.
    pub fn relative(&self) -> Option<f64> {
        (self.squares > 0.0 && self.non_finite == 0)
            .then(|| (self.squared_errors / self.squares).sqrt())
    }
}

/// The sums of a piece that has numbers which are not finite, or so large that their difference is
/// infinite in single precision.
fn with_non_finite(values: &[f32], decoded: &[f32]) -> Cost {
    let mut cost = Cost { elements: values.len() as u64, ..Cost::default() };
    for (&value, &decoded) in values.iter().zip(decoded) {
        if !(value.is_finite() && decoded.is_finite()) {
            cost.non_finite += 1;
            continue;
        }
        let error = f64::from(value) - f64::from(decoded);
        cost.squares += f64::from(value) * f64::from(value);
        cost.squared_errors += error * error;
        cost.largest = cost.largest.max(error.abs());
        cost.flushed += u64::from(decoded == 0.0 && value != 0.0);
    }
    cost
}

/// The sums of a piece.
struct Errors<'a> {
    values: &'a [f32],
    decoded: &'a [f32],
}

impl Task for Errors<'_> {
    type Output = Cost;

    #[inline(always)]
    fn run<I: Isa>(self, _: I) -> Cost {
        // Loops, not closures: what is not inlined is not compiled for the level.
        let mut sums = Sums::default();
        let (values, last) = self.values.as_chunks::<LANES>();
        let (decoded, last_decoded) = self.decoded.as_chunks::<LANES>();
        for (values, decoded) in values.iter().zip(decoded) {
            for lane in 0..LANES {
                sums.add(lane, values[lane], decoded[lane]);
            }
        }
        for (lane, (value, decoded)) in last.iter().zip(last_decoded).enumerate() {
            sums.add(lane, *value, *decoded);
        }
        let Sums { squares, errors, largest, flushed } = sums;
        Cost {
            elements: self.values.len() as u64,
            squares: squares.iter().sum(),
            squared_errors: errors.iter().sum(),
            largest: largest.into_iter().fold(0.0, f32::max).into(),
            flushed: flushed.iter().copied().map(u64::from).sum(),
            ..Cost::default()
        }
    }
}

/// The sums of a piece, lane by lane.
#[derive(Default)]
struct Sums {
    squares: [f64; LANES],
    errors: [f64; LANES],
    largest: [f32; LANES],
    flushed: [u32; LANES],
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, lane: usize, value: f32, decoded: f32) {
        let error = value - decoded;
        let (wide, wide_error) = (f64::from(value), f64::from(error));
        self.squares[lane] += wide * wide;
        self.errors[lane] += wide_error * wide_error;
        let (size, largest) = (error.abs(), self.largest[lane]);
        self.largest[lane] = if size > largest { size } else { largest };
        self.flushed[lane] += u32::from((decoded == 0.0) & (value != 0.0));
    }
}

/// The largest error in steps, and how many numbers lie beyond the outermost levels.
struct Steps<'a> {
    values: &'a [f32],
    decoded: &'a [f32],
    levels: &'a [SameLevels],
}

impl Task for Steps<'_> {
    type Output = (f32, u64);

    #[inline(always)]
    fn run<I: Isa>(self, _: I) -> (f32, u64) {
        let (mut most, mut clipped, mut start) = (0f32, 0u64, 0usize);
        for same in self.levels {
            let range: Range<usize> = start..start + same.elements;
            start = range.end;
            let (Some(values), Some(decoded)) =
                (self.values.get(range.clone()), self.decoded.get(range))
            else {
                break;
            };
            let (low, high) = (same.lowest - same.step / 2.0, same.highest + same.step / 2.0);
            let (mut largest, mut beyond) = (0f32, 0u32);
            for (&value, &decoded) in values.iter().zip(decoded) {
                let error = (value - decoded).abs();
                largest = if error > largest { error } else { largest };
                beyond += u32::from((value < low) | (value > high));
            }
            // Without a step, there is one level, and no error that could be counted in steps.
            if same.step > 0.0 {
                most = most.max(largest / same.step);
            }
            clipped += u64::from(beyond);
        }
        (most, clipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;

    #[test]
    fn errors_are_counted_in_steps_and_in_decibels() {
        let values = [0.0, 0.9, -1.1, 5.0, 0.2, 0.3];
        let decoded = [0.0, 1.0, -1.0, 3.0, 0.0, 0.0];
        let levels = |elements| SameLevels { elements, step: 1.0, lowest: -3.0, highest: 3.0 };
        let of = |numbers: &[f32], levels: &[SameLevels]| {
            Cost::of(&values, &Decoded { numbers: numbers.to_vec(), levels: levels.to_vec() })
        };
        let cost = of(&decoded, &[levels(4), levels(2)]);
        assert_eq!((cost.elements, cost.flushed, cost.clipped), (6, 2, Some(1)));
        assert_eq!((cost.largest, cost.steps), (2.0, Some(2.0)));
        let squares = 0.81 + 1.21 + 25.0 + 0.04 + 0.09;
        let errors: f64 = 0.01 + 0.01 + 4.0 + 0.04 + 0.09;
        assert!((cost.squared_errors - errors).abs() < 1e-6, "{cost:?}");
        assert!((cost.snr_db().unwrap() - 10.0 * (squares / errors).log10()).abs() < 1e-5);
        assert!((cost.relative().unwrap() - (errors / squares).sqrt()).abs() < 1e-6);
        assert_eq!(of(&values, &[]).snr_db(), None);
        assert_eq!(of(&values, &[]).clipped, None);
    }

    /// A block whose scale overflowed is not lossless.
    #[test]
    fn numbers_that_are_not_finite_are_counted_and_left_out() {
        let of = |values: &[f32], numbers: &[f32]| {
            Cost::of(values, &Decoded { numbers: numbers.to_vec(), levels: Vec::new() })
        };
        let cost = of(&[1.0, 1e6, 2.0, f32::NAN], &[f32::NAN, f32::INFINITY, 1.5, 0.0]);
        assert_eq!((cost.non_finite, cost.largest, cost.squared_errors), (3, 0.5, 0.25));
        assert_eq!((cost.snr_db(), cost.relative()), (None, None));
        let huge = of(&[3e38, 1.0], &[-3e38, 1.0]);
        assert_eq!(huge.non_finite, 0);
        assert!((huge.snr_db().unwrap() + 20.0 * 2f64.log10()).abs() < 1e-6, "{huge:?}");
        assert!(huge.largest > 5.9e38 && huge.largest.is_finite());
    }

    #[test]
    #[allow(clippy::cast_precision_loss)]
    fn every_level_gives_the_same_digits() {
        let values: Vec<f32> = (0..10_001).map(|n| (n as f32 * 0.37).sin()).collect();
        let numbers = values.iter().map(|x| (x * 8.0).round() / 8.0).collect();
        let levels =
            vec![SameLevels { elements: 32, step: 0.125, lowest: -1.0, highest: 0.875 }; 312];
        let decoded = Decoded { numbers, levels };
        let at = |level| simd::with_level(level, || Cost::of(&values, &decoded));
        for &level in Level::available() {
            assert_eq!(at(level), at(Level::BASELINE), "{level:?}");
        }
    }
}
