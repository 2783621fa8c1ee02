//! How ggml looks for the scale of a few numbers: one search a file.
//!
//! Each has a definition for one group, in ggml's order of operations, and a form for many groups
//! side by side, one in each lane. Lanes round with the instruction for it, which is what ggml does
//! for all but huge numbers ([`FARTHEST`]); groups where these may occur, or what is no number, are
//! told apart and are left to the definition.

use half::f16;

use crate::simd::Number;
use crate::simd::vector::Parallel;

pub(super) mod minimum;
pub(super) mod positive;
pub(super) mod side_by_side;
pub(super) mod signed;
pub(super) mod swept;

/// What was found for a group.
pub(super) struct Group<const N: usize> {
    pub(super) scale: f32,
    /// How far the minimum lies below zero, where there is one.
    pub(super) below: f32,
    /// From zero up.
    pub(super) codes: [u8; N],
}

/// What was found for a group in each lane.
pub(super) struct GroupLanes<P: Parallel> {
    pub(super) scale: P,
    /// The minimum, zero where there is none.
    pub(super) min: P,
    /// What is subtracted from numbers to get their codes, and what they are multiplied by then.
    pub(super) origin: P,
    pub(super) inverse: P,
    /// Where the code zero is stored for all numbers.
    pub(super) empty: P::Mask,
    /// Groups that are left to the definition.
    pub(super) left: P::Mask,
}

/// Groups without a number as large as this are all zero.
pub(super) const NOTHING: f32 = 1e-15;

/// Up to here, [`nearest`] is the nearest whole number.
pub(super) const FARTHEST: f32 = 4_194_303.0;

/// The nearest whole number, the even one of two: what is left in the lowest bits when a large
/// number is added. Of a number beyond [`FARTHEST`], it is whatever is left there.
#[inline(always)]
pub(super) fn nearest(value: f32) -> i32 {
    ((value + 12_582_912.0).to_bits() & 0x007f_ffff).cast_signed() - 0x0040_0000
}

/// C's cast to an integer, as x86-64 does it: the smallest one if the number does not fit.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // That is what is asked.
pub(super) fn truncated(value: f32) -> i32 {
    let fits = (-2_147_483_648.0..2_147_483_648.0).contains(&value);
    if fits { value as i32 } else { i32::MIN }
}

/// The lowest byte of an integer: C's cast.
#[inline(always)]
pub(super) fn low_byte(value: i32) -> u8 {
    value.to_le_bytes()[0]
}

/// Half precision; there is one NaN of each sign.
#[inline(always)]
pub(super) fn half(value: f32) -> f16 {
    let narrowed = <f16 as Number>::narrow(value);
    let nan = f16::from_bits(narrowed.to_bits() & 0x8000 | 0x7e00);
    if value.is_nan() { nan } else { narrowed }
}

/// The number that is farthest from zero, the first of several, without its sign and with it.
#[inline(always)]
pub(super) fn farthest<const N: usize>(values: &[f32; N]) -> (f32, f32) {
    let farther = |(most, of): (f32, f32), &value: &f32| {
        if value.abs() > most { (value.abs(), value) } else { (most, of) }
    };
    values.iter().fold((0.0, 0.0), farther)
}

/// The sum of the squares.
#[inline(always)]
pub(super) fn squares(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |sum, value| sum + value * value)
}

/// The sum.
#[inline(always)]
pub(super) fn sum(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |sum, value| sum + value)
}

/// How much each number of a block matters, where the importance of its column is known.
#[inline(always)]
pub(super) fn important<const N: usize>(
    values: &[f32; N],
    importance: &[f32],
    variance: f32,
) -> [f32; N] {
    std::array::from_fn(|at| importance[at] * (variance + values[at] * values[at]).sqrt())
}

/// [`farthest`] in each lane.
#[inline(always)]
pub(super) fn farthest_in_lanes<P: Parallel, const N: usize>(values: &[P; N]) -> (P, P) {
    let zero = values[0].same(0.0);
    let (mut most, mut of) = (zero, zero);
    for &value in values {
        let farther = most.less(value.abs());
        most = value.abs().or(most, farther);
        of = value.or(of, farther);
    }
    (most, of)
}

/// Where all numbers are finite.
#[inline(always)]
pub(super) fn finite_in_lanes<P: Parallel, const N: usize>(values: &[P; N]) -> P::Mask {
    let zero = values[0].same(0.0);
    let mut nothing = zero;
    for &value in values {
        nothing = nothing + value * zero;
    }
    nothing.equals(zero)
}

/// Where [`nearest`] is what rounding gives.
#[inline(always)]
pub(super) fn near<P: Parallel>(value: P) -> P::Mask {
    value.abs().at_most(value.same(FARTHEST))
}

/// The square of each number.
#[inline(always)]
pub(super) fn squared<P: Parallel, const N: usize>(values: &[P; N]) -> [P; N] {
    let mut squares = *values;
    for value in &mut squares {
        *value = *value * *value;
    }
    squares
}
