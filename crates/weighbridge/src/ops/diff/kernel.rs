//! The sums over two short pieces of numbers, compiled for each level.
//!
//! A piece stays in the first cache, so it is gone over several times: once for its bits, once
//! for its means, once for everything about them. Each sum has eight lanes, added up in one fixed
//! order: no level and no number of workers changes a digit.
#![allow(unsafe_code)] // The same functions compiled for a CPU that has more registers.

use super::sums::{Moments, Sums};
use crate::simd::Level;

/// Numbers that are looked at together: 8 KiB of both sides.
pub(super) const PIECE: usize = 1024;

const LANES: usize = 8;

/// Sums over a piece; places are counted from its start. Rounding is not looked at here.
pub(super) fn measure(level: Level, a: &[f32], b: &[f32]) -> Sums {
    match level {
        // SAFETY: a level is only ever one that the CPU has.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { measure_avx2(a, b) },
        _ => measure_baseline(a, b),
    }
}

#[inline(never)]
fn measure_baseline(a: &[f32], b: &[f32]) -> Sums {
    measure_here(a, b)
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn measure_avx2(a: &[f32], b: &[f32]) -> Sums {
    measure_here(a, b)
}

#[inline(always)]
fn measure_here(a: &[f32], b: &[f32]) -> Sums {
    let (identical, is_finite) = bits(a, b);
    match (is_finite, identical == a.len() as u64) {
        (false, _) => with_odd_ones(a, b),
        (true, true) => of_same(a),
        (true, false) => of_different(a, b, identical),
    }
}

/// How many are the same to the bit, and whether all are finite.
#[inline(always)]
fn bits(a: &[f32], b: &[f32]) -> (u64, bool) {
    const INFINITY: u32 = f32::INFINITY.to_bits();
    let (mut same, mut odd) = (0u32, 0u32);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (a.to_bits(), b.to_bits());
        same += u32::from(a == b);
        odd |= u32::from(a & INFINITY == INFINITY) | u32::from(b & INFINITY == INFINITY);
    }
    (same.into(), odd == 0)
}

/// Both sides are the same: one will do.
#[inline(always)]
fn of_same(a: &[f32]) -> Sums {
    let moments = moments(a);
    let (count, squares) = (a.len() as u64, moments.squares());
    Sums {
        elements: count,
        identical: count,
        a: moments,
        b: moments,
        both: count,
        squares_a: squares,
        squares_b: squares,
        products: squares,
        largest: (count > 0).then_some((0.0, 0)),
        ..Sums::default()
    }
}

#[inline(always)]
#[allow(clippy::cast_precision_loss)] // A piece is short.
fn moments(values: &[f32]) -> Moments {
    let sum = lanes(values, values, |x, _| x);
    let mean = sum / values.len().max(1) as f64;
    let about_mean = lanes(values, values, |x, _| (x - mean) * (x - mean));
    Moments { count: values.len() as u64, sum, about_mean }
}

/// The sum of `f` of each two numbers.
#[inline(always)]
fn lanes(a: &[f32], b: &[f32], f: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sums = [0.0; LANES];
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += f(a[lane].into(), b[lane].into());
        }
    }
    for ((sum, &a), &b) in sums.iter_mut().zip(rest_a).zip(rest_b) {
        *sum += f(a.into(), b.into());
    }
    total(&sums)
}

#[inline(always)]
fn total(sums: &[f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = *sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// What is summed in one go over two pieces: eight lanes of each.
#[derive(Default)]
struct Together {
    about_a: [f64; LANES],
    about_b: [f64; LANES],
    products: [f64; LANES],
    squares: [f64; LANES],
    absolute: [f64; LANES],
    largest: [f64; LANES],
}

impl Together {
    #[inline(always)]
    fn add(&mut self, lane: usize, [a, b]: [f64; 2], [mean_a, mean_b]: [f64; 2]) {
        let (from_a, from_b, apart) = (a - mean_a, b - mean_b, a - b);
        let size = apart.abs();
        self.about_a[lane] += from_a * from_a;
        self.about_b[lane] += from_b * from_b;
        self.products[lane] += a * b;
        self.squares[lane] += apart * apart;
        self.absolute[lane] += size;
        self.largest[lane] = if size > self.largest[lane] { size } else { self.largest[lane] };
    }
}

#[inline(always)]
#[allow(clippy::cast_precision_loss)] // A piece is short.
fn of_different(a: &[f32], b: &[f32], identical: u64) -> Sums {
    let count = a.len();
    let sums = [lanes(a, b, |a, _| a), lanes(a, b, |_, b| b)];
    let means = sums.map(|sum| sum / count as f64);
    let mut all = Together::default();
    let ((heads_a, rest_a), (heads_b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in heads_a.iter().zip(heads_b) {
        for lane in 0..LANES {
            all.add(lane, [a[lane].into(), b[lane].into()], means);
        }
    }
    for (lane, (&a, &b)) in rest_a.iter().zip(rest_b).enumerate() {
        all.add(lane, [a.into(), b.into()], means);
    }
    let largest = all.largest.iter().fold(0.0, |most: f64, &one| most.max(one));
    let is_it = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).abs() == largest;
    let place = a.iter().zip(b).position(is_it);
    let moments =
        |sum, about: &[f64; LANES]| Moments { count: count as u64, sum, about_mean: total(about) };
    let (of_a, of_b) = (moments(sums[0], &all.about_a), moments(sums[1], &all.about_b));
    Sums {
        elements: count as u64,
        identical,
        a: of_a,
        b: of_b,
        both: count as u64,
        squares_a: of_a.squares(),
        squares_b: of_b.squares(),
        products: total(&all.products),
        squares: total(&all.squares),
        absolute: total(&all.absolute),
        largest: place.map(|place| (largest, place as u64)),
        ..Sums::default()
    }
}

/// The same with numbers among them that are not finite, one by one.
#[inline(never)]
fn with_odd_ones(a: &[f32], b: &[f32]) -> Sums {
    let widen = |(&a, &b): (&f32, &f32)| {
        let is_same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        (f64::from(a), f64::from(b), is_same, f64::from(a) - f64::from(b))
    };
    one_by_one(a.iter().zip(b).map(widen))
}

/// Sums over numbers as they come: both sides, whether they are the same, and their difference.
pub(super) fn one_by_one(pairs: impl Iterator<Item = (f64, f64, bool, f64)> + Clone) -> Sums {
    let mut sums = Sums::default();
    for (index, (a, b, is_same, apart)) in (0u64..).zip(pairs.clone()) {
        sums.elements += 1;
        sums.identical += u64::from(is_same);
        for (side, value) in [a, b].into_iter().enumerate() {
            sums.nan[side] += u64::from(value.is_nan());
            sums.infinite[side] += u64::from(value.is_infinite());
        }
        if a.is_finite() && b.is_finite() {
            sums.both += 1;
            sums.squares_a += a * a;
            sums.squares_b += b * b;
            sums.products += a * b;
            sums.squares += apart * apart;
            sums.absolute += apart.abs();
            sums.see_difference(apart.abs(), index);
        } else if !is_same {
            sums.unlike += 1;
            sums.first_unlike.get_or_insert(index);
        }
    }
    sums.a = finite_moments(pairs.clone().map(|(a, ..)| a));
    sums.b = finite_moments(pairs.map(|(_, b, ..)| b));
    sums
}

#[allow(clippy::cast_precision_loss)] // A piece is short.
fn finite_moments(values: impl Iterator<Item = f64> + Clone) -> Moments {
    let finite = values.filter(|value| value.is_finite());
    let (count, sum) = finite.clone().fold((0u64, 0.0), |(count, sum), x| (count + 1, sum + x));
    let mean = sum / count.max(1) as f64;
    Moments { count, sum, about_mean: finite.map(|x| (x - mean) * (x - mean)).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let wanted = measure(Level::Baseline, &a, &b);
            for &level in Level::available() {
                assert_eq!(measure(level, &a, &b), wanted, "{level:?} {count}");
            }
        }
    }

    #[test]
    fn the_quick_way_and_the_slow_one_agree() {
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} {b}");
        let (a, b) = (numbers(3, 777), numbers(4, 777));
        let (quick, slow) = (measure(Level::Baseline, &a, &b), with_odd_ones(&a, &b));
        assert_eq!((quick.identical, quick.both), (slow.identical, slow.both));
        assert_eq!(quick.largest, slow.largest);
        near(quick.products, slow.products);
        near(quick.squares, slow.squares);
        near(quick.absolute, slow.absolute);
        near(quick.squares_a, slow.squares_a);
        near(quick.a.about_mean, slow.a.about_mean);
        near(quick.b.sum, slow.b.sum);
        assert_eq!(measure(Level::Baseline, &a, &a).identical, 777);
    }

    #[test]
    fn what_is_not_finite_is_counted_and_left_out() {
        let a = [1.0, f32::NAN, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2.0, 3.0];
        let b = [1.5, f32::NAN, 0.0, f32::INFINITY, f32::INFINITY, f32::NAN, 3.0];
        for &level in Level::available() {
            let sums = measure(level, &a, &b);
            assert_eq!((sums.elements, sums.identical, sums.both), (7, 3, 2));
            assert_eq!((sums.nan, sums.infinite), ([2, 2], [2, 2]));
            assert_eq!((sums.unlike, sums.first_unlike), (3, Some(2)));
            assert_eq!(sums.largest, Some((0.5, 0)));
            assert_eq!((sums.a.count, sums.a.sum, sums.b.sum), (3, 6.0, 4.5));
        }
    }

    #[test]
    fn zeros_of_either_sign_are_not_the_same_to_the_bit() {
        let sums = measure(Level::Baseline, &[0.0, 1.0], &[-0.0, 1.0]);
        assert_eq!((sums.identical, sums.squares, sums.largest), (1, 0.0, Some((0.0, 0))));
    }
}
