//! The statistics of two short pieces of numbers, compiled for each level.
//!
//! A piece fits in the first-level cache, so that it can be read more than once. Each sum has four
//! lanes, which are added up in one fixed order: neither the level nor the number of workers
//! changes a digit. What takes a search (where the largest difference is, how many steps lie
//! between two numbers) is done only for pieces that can hold the answer.

use super::statistics::{Moments, Statistics};
use crate::simd::accumulate::{LANES, OneSide};
use crate::simd::{Isa, kernel};

/// Numbers of each side in a piece: 32 KiB for both.
pub const PIECE: usize = 4096;

kernel! {
    /// The statistics of a piece, and the most f32 steps between two of its numbers, give or take
    /// one.
    ///
    /// Positions count from the start of the piece. The largest difference is located only if it is
    /// at least `known`. Rounding is checked elsewhere.
    pub fn measure(isa; a: &[f32], b: &[f32], known: f64) -> (Statistics, u32) {
        let (stats, apart) = if are_same(a, b) { (of_same(isa, a), 0) } else { of_different(isa, a, b, known) };
        // The squares of finite f32 numbers always fit in f64.
        if (stats.squares_a + stats.squares_b).is_finite() { (stats, apart) } else { (with_non_finite(a, b), apart) }
    }
}

/// Whether all numbers are the same to the bit.
#[inline(always)]
fn are_same(a: &[f32], b: &[f32]) -> bool {
    let differ = |(a, b): (&[f32], &[f32])| {
        let other = |other, (a, b): (&f32, &f32)| other | (a.to_bits() ^ b.to_bits());
        a.iter().zip(b).fold(0, other) != 0
    };
    !a.chunks(64).zip(b.chunks(64)).any(differ)
}

/// The statistics of two equal sides: only one is read.
#[inline(always)]
fn of_same(isa: impl Isa, a: &[f32]) -> Statistics {
    let (eights, rest) = a.as_chunks();
    let mut all = isa.one_side(eights);
    for (index, &a) in rest.iter().enumerate() {
        all.add(index % LANES, a.into());
    }
    let (count, squares) = (a.len() as u64, total(&all.squares));
    let moments = moments(&all, a);
    Statistics {
        elements: count,
        identical: count,
        a: moments,
        b: moments,
        both: count,
        squares_a: squares,
        squares_b: squares,
        products: squares,
        largest: (count > 0).then_some((0.0, 0)),
        ..Statistics::default()
    }
}

/// The squared deviations follow from the squares, unless the numbers lie close together and far
/// from zero: then they are computed from the numbers again.
#[inline(always)]
#[allow(clippy::cast_precision_loss)] // A piece is short.
fn moments(one: &OneSide, values: &[f32]) -> Moments {
    let (sum, squares) = (total(&one.sum), total(&one.squares));
    let mean = sum / values.len().max(1) as f64;
    let squared_deviations = squares - sum * mean;
    let squared_deviations = if squared_deviations < squares * FAR_FROM_ZERO {
        deviations_from(values, mean)
    } else {
        squared_deviations
    };
    Moments { count: values.len() as u64, sum, squared_deviations }
}

/// Below this share of squared deviations in the squares, subtracting loses three digits.
const FAR_FROM_ZERO: f64 = 1e-3;

#[inline(never)]
fn deviations_from(values: &[f32], mean: f64) -> f64 {
    let mut squares = [0.0; LANES];
    for (index, &x) in values.iter().enumerate() {
        let apart = f64::from(x) - mean;
        squares[index % LANES] += apart * apart;
    }
    total(&squares)
}

#[inline(always)]
fn total(lanes: &[f64; LANES]) -> f64 {
    let [a, b, c, d] = *lanes;
    (a + c) + (b + d)
}

#[inline(always)]
fn of_different(isa: impl Isa, a: &[f32], b: &[f32], known: f64) -> (Statistics, u32) {
    let count = a.len() as u64;
    let ((eights_a, rest_a), (eights_b, rest_b)) = (a.as_chunks(), b.as_chunks());
    let mut all = isa.two_sides(eights_a, eights_b);
    for (index, (&a, &b)) in rest_a.iter().zip(rest_b).enumerate() {
        all.add(index % LANES, a, b);
    }
    let largest = all.largest.iter().fold(0.0, |most: f64, &one| most.max(one));
    let stats = Statistics {
        elements: count,
        identical: all.identical.into(),
        a: moments(&all.a, a),
        b: moments(&all.b, b),
        both: count,
        squares_a: total(&all.a.squares),
        squares_b: total(&all.b.squares),
        products: total(&all.products),
        squares: total(&all.squares),
        absolute: total(&all.absolute),
        largest: (largest >= known).then(|| (largest, position_of(largest, a, b))),
        ..Statistics::default()
    };
    (stats, all.apart)
}

/// The first position where two numbers are this far apart.
#[inline(never)]
fn position_of(largest: f64, a: &[f32], b: &[f32]) -> u64 {
    let is_it = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).abs() == largest;
    a.iter().zip(b).position(is_it).unwrap_or(0) as u64
}

/// The statistics of a piece with NaN or infinite numbers, one by one.
#[inline(never)]
fn with_non_finite(a: &[f32], b: &[f32]) -> Statistics {
    let widen = |(&a, &b): (&f32, &f32)| {
        let is_same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        (f64::from(a), f64::from(b), is_same, f64::from(a) - f64::from(b))
    };
    one_by_one(a.iter().zip(b).map(widen))
}

/// The statistics of pairs: both numbers, whether they are the same, and their difference.
pub fn one_by_one(pairs: impl Iterator<Item = (f64, f64, bool, f64)> + Clone) -> Statistics {
    let mut stats = Statistics::default();
    for (index, (a, b, is_same, apart)) in (0u64..).zip(pairs.clone()) {
        stats.elements += 1;
        stats.identical += u64::from(is_same);
        for (side, value) in [a, b].into_iter().enumerate() {
            stats.nan[side] += u64::from(value.is_nan());
            stats.infinite[side] += u64::from(value.is_infinite());
        }
        if a.is_finite() && b.is_finite() {
            stats.both += 1;
            stats.squares_a += a * a;
            stats.squares_b += b * b;
            stats.products += a * b;
            stats.squares += apart * apart;
            stats.absolute += apart.abs();
            stats.see_difference(apart.abs(), index);
        } else if !is_same {
            stats.unlike += 1;
            stats.first_unlike.get_or_insert(index);
        }
    }
    stats.a = finite_moments(pairs.clone().map(|(a, ..)| a));
    stats.b = finite_moments(pairs.map(|(_, b, ..)| b));
    stats
}

#[allow(clippy::cast_precision_loss)] // A piece is short.
fn finite_moments(values: impl Iterator<Item = f64> + Clone) -> Moments {
    let finite = values.filter(|value| value.is_finite());
    let (count, sum) = finite.clone().fold((0u64, 0.0), |(count, sum), x| (count + 1, sum + x));
    let mean = sum / count.max(1) as f64;
    Moments { count, sum, squared_deviations: finite.map(|x| (x - mean) * (x - mean)).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Level;

    fn numbers(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn every_level_gives_the_same_sums_for_every_length() {
        for count in (0..70).chain([1000, PIECE]) {
            let (a, b) = (numbers(1, count), numbers(2, count));
            let wanted = measure(Level::BASELINE, &a, &b, -1.0);
            for &level in Level::available() {
                assert_eq!(measure(level, &a, &b, -1.0), wanted, "{level:?} {count}");
            }
        }
    }

    #[test]
    fn the_quick_way_and_the_slow_one_agree() {
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} {b}");
        let (a, b) = (numbers(3, 777), numbers(4, 777));
        let (quick, slow) = (measure(Level::BASELINE, &a, &b, -1.0).0, with_non_finite(&a, &b));
        assert_eq!((quick.identical, quick.both), (slow.identical, slow.both));
        assert_eq!(quick.largest, slow.largest);
        near(quick.products, slow.products);
        near(quick.squares, slow.squares);
        near(quick.absolute, slow.absolute);
        near(quick.squares_a, slow.squares_a);
        near(quick.a.squared_deviations, slow.a.squared_deviations);
        near(quick.b.sum, slow.b.sum);
        assert_eq!(measure(Level::BASELINE, &a, &a, -1.0).0.identical, 777);
    }

    #[test]
    fn what_is_not_finite_is_counted_and_left_out() {
        let a = [1.0, f32::NAN, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2.0, 3.0];
        let b = [1.5, f32::NAN, 0.0, f32::INFINITY, f32::INFINITY, f32::NAN, 3.0];
        for &level in Level::available() {
            let stats = measure(level, &a, &b, -1.0).0;
            assert_eq!((stats.elements, stats.identical, stats.both), (7, 3, 2));
            assert_eq!((stats.nan, stats.infinite), ([2, 2], [2, 2]));
            assert_eq!((stats.unlike, stats.first_unlike), (3, Some(2)));
            assert_eq!(stats.largest, Some((0.5, 0)));
            assert_eq!((stats.a.count, stats.a.sum, stats.b.sum), (3, 6.0, 4.5));
        }
    }

    #[test]
    fn numbers_far_from_zero_keep_their_digits() {
        let a: Vec<f32> = numbers(5, 1000).iter().map(|x| 4000.0 + x).collect();
        let b: Vec<f32> = a.iter().map(|x| x + 0.5).collect();
        let (quick, slow) = (measure(Level::BASELINE, &a, &b, -1.0).0, with_non_finite(&a, &b));
        for (quick, slow) in [(quick.a, slow.a), (quick.b, slow.b)] {
            let error = (quick.squared_deviations - slow.squared_deviations).abs();
            assert!(error <= 1e-11 * slow.squared_deviations, "{quick:?} {slow:?}");
        }
    }

    #[test]
    fn a_difference_below_the_known_one_is_not_placed() {
        let (a, b) = (numbers(6, 300), numbers(7, 300));
        let (value, at) = measure(Level::BASELINE, &a, &b, -1.0).0.largest.unwrap();
        assert!(at > 0 && value > 1.0, "{value} {at}");
        for (known, wanted) in [(value + 0.01, None), (value, Some((value, at)))] {
            assert_eq!(measure(Level::BASELINE, &a, &b, known).0.largest, wanted);
        }
    }

    #[test]
    fn steps_are_counted_but_for_one() {
        let next = |x: f32, steps: i32| f32::from_bits(x.to_bits().wrapping_add_signed(steps));
        let steps = |a: f32, b: f32| measure(Level::BASELINE, &[a], &[b], -1.0).1;
        assert_eq!(steps(1.0, next(1.0, 3)), 3);
        assert_eq!(steps(next(-1.0, 7), -1.0), 7);
        assert_eq!(steps(next(0.0, 2), -next(0.0, 3)), 6);
        assert_eq!(steps(f32::MAX, f32::MIN), 2 * f32::MAX.to_bits() + 1);
    }

    #[test]
    fn zeros_of_either_sign_are_not_the_same_to_the_bit() {
        let stats = measure(Level::BASELINE, &[0.0, 1.0], &[-0.0, 1.0], -1.0).0;
        assert_eq!((stats.identical, stats.squares, stats.largest), (1, 0.0, Some((0.0, 0))));
    }
}
