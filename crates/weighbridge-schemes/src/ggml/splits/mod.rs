//! Encoding of the types whose numbers are -1, 0 and 1, moved up or down by 1/8: IQ1.
//!
//! A part of a block has one scale. Its numbers are sorted, equal ones in their order, and every
//! way to split them into three stretches (for -1, 0 and 1) is tried with every direction; the
//! sums of a split are differences of running sums. The digits of the best split are rounded to
//! points of the grid, with the least weighted error at its scale; then the scale is fitted again.

mod halves;
mod lanes;
mod points;
mod whole;

use super::grids::cells::{Cells, IQ1};
use super::grids::picking::Picks;
use super::search::{low_byte, nearest};
use points::nearest_point;

/// What the digits stand for when they are moved up, and when they are moved down.
pub(super) const LEVELS: [[f32; 3]; 2] = [[-0.875, 0.125, 1.125], [-1.125, -0.125, 0.875]];

/// How much numbers matter: their importance times the root of their square plus twice the block's
/// mean square, or without importance their square.
#[inline(always)]
pub(super) fn weights(values: &[f32; 256], importance: Option<&[f32; 256]>) -> [f32; 256] {
    let squares = values.iter().fold(0.0, |sum, value| sum + value * value);
    let variance = 2.0 * squares / 256.0;
    let mut weights = [0.0; 256];
    for (index, (weight, value)) in weights.iter_mut().zip(values).enumerate() {
        let square = value * value;
        *weight = match importance {
            None => square,
            Some(importance) => importance[index] * (variance + square).sqrt(),
        };
    }
    weights
}

/// Numbers that share a scale.
#[derive(Clone, Copy)]
pub(super) struct Part<'a, const N: usize> {
    pub(super) values: &'a [f32; N],
    pub(super) weights: &'a [f32; N],
}

/// A way to split the sorted numbers.
#[derive(Clone, Copy)]
struct Split {
    /// How many are -1.
    low: usize,
    /// How many are -1 or 0.
    middle: usize,
    scale: f32,
    /// Bit `n`: group `n` of eight is moved down.
    down: u8,
}

/// What a part becomes.
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    /// Indices of points of the grid, as many as there are.
    pub(super) points: [u16; 4],
    /// Their codes.
    codes: [u16; 4],
    pub(super) scale: f32,
    /// Bit `n`: group `n` of eight is moved down.
    pub(super) down: u8,
}

impl<const N: usize> Part<'_, N> {
    /// The largest magnitude.
    #[inline(always)]
    fn most(&self) -> f32 {
        let first = self.values[0].abs();
        self.values.iter().fold(first, |a, b| if a > b.abs() { a } else { b.abs() })
    }

    /// The indices of the numbers, sorted; equal ones in their order.
    fn order(&self) -> [u8; N] {
        let mut order = std::array::from_fn(|index| index.to_le_bytes()[0]);
        for end in 1..N {
            let mut at = end;
            while at > 0 && self.value(order[at - 1]) > self.value(order[at]) {
                order.swap(at - 1, at);
                at -= 1;
            }
        }
        order
    }

    #[inline(always)]
    fn value(&self, index: u8) -> f32 {
        self.values[usize::from(index)]
    }

    /// Rounds a split to points of the grid.
    #[inline(always)]
    fn settle(&self, order: &[u8; N], mut split: Split, way: impl Picks) -> Found {
        let cells: &Cells<8> = &IQ1;
        let mut digits = [0u8; N];
        for (place, &index) in order.iter().enumerate() {
            digits[usize::from(index)] =
                u8::from(place >= split.low) + u8::from(place >= split.middle);
        }
        if split.scale < 0.0 {
            digits.iter_mut().for_each(|digit| *digit = 2 - *digit);
            split.scale = -split.scale;
            split.down = !split.down;
        }
        let Split { scale, down, .. } = split;
        let mut found = Found { points: [0; 4], codes: [0; 4], scale, down };
        let mut on_grid = true;
        for group in 0..N / 8 {
            let (code, is_point) = nearest_point(self, cells, group, &digits, (scale, down), way);
            on_grid &= is_point;
            found.codes[group] = code;
            found.points[group] = cells.index(code);
        }
        if !on_grid {
            let (xq, qq) = self.fit(&found.codes, down, 1.0, (0.0, 0.0));
            if xq > 0.0 && qq > 0.0 {
                found.scale = xq / qq;
            }
        }
        found
    }

    /// The sums that say how well points fit, added to `sums`: of weight times number times value,
    /// and of weight times number squared.
    #[inline(always)]
    fn fit(&self, codes: &[u16; 4], down: u8, scale: f32, mut sums: (f32, f32)) -> (f32, f32) {
        for index in 0..N {
            let digit = codes[index / 8] >> (2 * (index % 8)) & 3;
            let q = levels(down, index / 8)[usize::from(digit)] * scale;
            let w = self.weights[index];
            sums.0 += w * q * self.values[index];
            sums.1 += w * q * q;
        }
        sums
    }
}

/// What the digits of a group stand for.
#[inline(always)]
fn levels(down: u8, group: usize) -> &'static [f32; 3] {
    &LEVELS[usize::from(down >> group & 1)]
}

/// Scales as odd multiples of a 15th of the largest.
#[inline(always)]
pub(super) fn small_scale(inverse: f32, scale: f32) -> u8 {
    low_byte(nearest(0.5 * (inverse * scale - 1.0)).clamp(0, 7))
}
