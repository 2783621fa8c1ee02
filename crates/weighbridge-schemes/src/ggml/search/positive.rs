//! A scale for numbers of which hardly any is negative: the scales of a block's groups, and the
//! magnitudes that IQ2_XXS starts from. (Of eight of these one may be negative, since the number of
//! signs is even.)
//!
//! ggml keeps codes in bytes, so -1 becomes 255 where one is read back.

use super::side_by_side::eight as in_eight;
use super::{FARTHEST, Group, NOTHING, finite_in_lanes, low_byte, nearest};
use crate::simd::Isa;
use crate::simd::vector::{Choice, LANES, Mask, Parallel, Vector};

/// The scales that are tried, in tenths of a step from the first.
const TRIED: [f32; 8] = [-4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0];

/// How often all codes are looked at.
const SWEEPS: usize = 5;

/// The definition. Codes lie between zero and `most`.
pub(in crate::ggml) fn define<const N: usize>(
    most: u8,
    values: &[f32; N],
    weights: &[f32; N],
) -> Group<N> {
    let largest =
        values.iter().fold(0.0, |most: f32, &value| if most > value { most } else { value });
    if largest < NOTHING {
        return Group { scale: 0.0, below: 0.0, codes: [0; N] };
    }
    let steps = f32::from(most);
    let bounded = |value: f32| nearest(value).min(i32::from(most));
    let error = |inverse: f32, code: &dyn Fn(f32) -> f32| {
        let scale = 1.0 / inverse;
        values.iter().zip(weights).fold(0.0, |error, (&value, weight)| {
            let off = value - scale * code(inverse * value);
            error + weight * off * off
        })
    };
    let mut inverse = steps / largest;
    let mut least = error(inverse, &|value| f32::from(low_byte(nearest(value))));
    for tenths in TRIED {
        let tried = (0.1 * tenths + steps) / largest;
        let error = error(tried, &|value| bounded(value) as f32);
        if error < least {
            (least, inverse) = (error, tried);
        }
    }
    let mut codes = [0; N];
    let (mut products, mut squares) = (0.0, 0.0);
    for ((&value, &weight), code) in values.iter().zip(weights).zip(&mut codes) {
        let level = bounded(inverse * value);
        *code = low_byte(level);
        products += weight * value * level as f32;
        squares += weight * level as f32 * level as f32;
    }
    for _ in 0..SWEEPS {
        if !sweep(most, values, weights, &mut codes, (&mut products, &mut squares)) {
            break;
        }
    }
    let scale = if squares > 0.0 { products / squares } else { 0.0 };
    Group { scale, below: 0.0, codes }
}

/// Changes each code in turn if that lessens the error; says whether one was changed.
fn sweep<const N: usize>(
    most: u8,
    values: &[f32; N],
    weights: &[f32; N],
    codes: &mut [u8; N],
    (products, squares): (&mut f32, &mut f32),
) -> bool {
    let mut changed = false;
    for ((&value, &weight), code) in values.iter().zip(weights).zip(codes) {
        let level = f32::from(*code);
        let other_products = *products - weight * value * level;
        let other_squares = *squares - weight * level * level;
        if !(other_products > 0.0 && other_squares > 0.0) {
            continue;
        }
        let new = nearest(value * other_squares / other_products).min(i32::from(most));
        if new == i32::from(*code) {
            continue;
        }
        let new_products = other_products + weight * value * new as f32;
        let new_squares = other_squares + weight * new as f32 * new as f32;
        let gain = new_products * new_products * *squares;
        if gain > *products * *products * new_squares {
            (*code, *products, *squares) = (low_byte(new), new_products, new_squares);
            changed = true;
        }
    }
    changed
}

/// What was found for a block in each lane.
struct PositiveLanes<P: Parallel, const N: usize> {
    scale: P,
    codes: [P; N],
    /// Blocks that are left to the definition.
    left: P::Mask,
}

/// Runs the search on eight blocks.
#[inline(always)]
pub(in crate::ggml) fn eight<I: Isa, const N: usize>(
    isa: I,
    most: u8,
    values: &[[f32; N]],
    weights: &[[f32; N]],
) -> [Group<N>; LANES] {
    let found = in_lanes(most, &in_eight(isa, values), &in_eight(isa, weights));
    let (left, scales) = (found.left.bits(), found.scale.lanes());
    let mut codes = [[0; LANES]; N];
    for (codes, found) in codes.iter_mut().zip(found.codes) {
        *codes = found.to_ints();
    }
    std::array::from_fn(|block| {
        if left & 1 << block != 0 {
            return define(most, &values[block], &weights[block]);
        }
        let codes = std::array::from_fn(|at| low_byte(codes[at][block]));
        Group { scale: scales[block], below: 0.0, codes }
    })
}

/// The vector form, one block per lane. Sums keep the order of the scalar form.
#[inline(always)]
fn in_lanes<P: Parallel, const N: usize>(
    most: u8,
    values: &[P; N],
    weights: &[P; N],
) -> PositiveLanes<P, N> {
    let zero = values[0].same(0.0);
    let steps = zero.same(f32::from(most));
    let (mut largest, mut smallest) = (zero, zero);
    for &value in values {
        largest = largest.max(value);
        smallest = smallest.min(value);
    }
    let empty = largest.less(zero.same(NOTHING));
    // What is as far below zero as that still is a byte.
    let mut left = finite_in_lanes(values).not().or(largest.less(zero - smallest));
    let largest = zero.same(1.0).or(largest, empty);
    let mut inverse = steps / largest;
    let mut least = error_in_lanes(values, weights, inverse, as_byte);
    for tenths in TRIED {
        let tried = zero.same(0.1 * tenths + f32::from(most)) / largest;
        let error = error_in_lanes(values, weights, tried, |level| level.min(steps));
        let better = error.less(least);
        least = error.or(least, better);
        inverse = tried.or(inverse, better);
    }
    let mut codes = [zero; N];
    let (mut products, mut squares) = (zero, zero);
    for at in 0..N {
        let level = (inverse * values[at]).round().min(steps);
        codes[at] = as_byte(level);
        products = products + weights[at] * values[at] * level;
        squares = squares + weights[at] * level * level;
    }
    for _ in 0..SWEEPS {
        let mut any = zero.less(zero);
        for at in 0..N {
            let (value, weight, level) = (values[at], weights[at], codes[at]);
            let other_products = products - weight * value * level;
            let other_squares = squares - weight * level * level;
            let scaled = value * other_squares / other_products;
            let new = scaled.round().min(steps);
            let new_products = other_products + weight * value * new;
            let new_squares = other_squares + weight * new * new;
            let tried = zero.less(other_products).and(zero.less(other_squares));
            let rounds = zero.same(-200.0).less(scaled).and(scaled.less(zero.same(FARTHEST)));
            left = left.or(tried.and(rounds.not()));
            let gain = new_products * new_products * squares;
            let better = (products * products * new_squares).less(gain);
            let better = tried.and(better).and(new.equals(level).not());
            codes[at] = as_byte(new).or(level, better);
            products = new_products.or(products, better);
            squares = new_squares.or(squares, better);
            any = any.or(better);
        }
        if !any.any() {
            break;
        }
    }
    let scale = (products / squares).or(zero, zero.less(squares));
    for code in &mut codes {
        *code = zero.or(*code, empty);
    }
    PositiveLanes { scale: zero.or(scale, empty), codes, left }
}

/// Whole numbers from -256 on, as bytes hold them.
#[inline(always)]
fn as_byte<P: Parallel>(whole: P) -> P {
    (whole + whole.same(256.0)).or(whole, whole.less(whole.same(0.0)))
}

/// The error that is left with the codes that `code` makes of whole numbers.
#[inline(always)]
fn error_in_lanes<P: Parallel, const N: usize>(
    values: &[P; N],
    weights: &[P; N],
    inverse: P,
    code: impl Fn(P) -> P,
) -> P {
    let scale = inverse.same(1.0) / inverse;
    let mut error = inverse.same(0.0);
    for at in 0..N {
        let off = values[at] - scale * code((inverse * values[at]).round());
        error = error + weights[at] * off * off;
    }
    error
}
