//! Digits rounded to a point of the grid.

use super::super::grids::cells::{Cells, Near};
use super::super::grids::picking::Picks;
use super::Part;
use crate::simd::by_digits::Target;

/// What digits stand for, twice for each direction: up, then down.
const NUMBERS: [[f32; 8]; 2] = [
    [-0.875, 0.125, 1.125, 0.0, -0.875, 0.125, 1.125, 0.0],
    [-1.125, -0.125, 0.875, 0.0, -1.125, -0.125, 0.875, 0.0],
];

/// The code of the point for a group's digits, and whether they are one.
#[inline(always)]
pub(super) fn nearest_point<const N: usize>(
    part: &Part<'_, N>,
    cells: &Cells<8>,
    group: usize,
    digits: &[u8; N],
    (scale, down): (f32, u8),
    way: impl Picks,
) -> (u16, bool) {
    let eight = &digits[8 * group..][..8];
    let cell = eight.iter().rev().fold(0, |cell, &digit| cell * 3 + usize::from(digit));
    match cells.near(cell) {
        Near::Point(code) => (code, true),
        Near::Around(near) => {
            let target = Target::<8> {
                values: &part.values.as_chunks().0[group],
                weights: &part.weights.as_chunks().0[group],
                numbers: &NUMBERS[usize::from(down >> group & 1)],
                scale,
            };
            (way.nearest::<8>(near, &target), false)
        }
    }
}
