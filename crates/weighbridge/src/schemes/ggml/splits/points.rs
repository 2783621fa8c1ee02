//! Digits rounded to a point of the grid.

use super::super::grids::cells::{IQ1, Near};
use super::{Part, levels};

/// The code of the point for a group's digits, and whether they are one.
pub(super) fn nearest_point<const N: usize>(
    part: &Part<'_, N>,
    group: usize,
    digits: &[u8; N],
    scale: f32,
    down: u8,
) -> (u16, bool) {
    let eight = &digits[8 * group..][..8];
    let cell = eight.iter().rev().fold(0, |cell, &digit| cell * 3 + usize::from(digit));
    let near = match IQ1.near(cell) {
        Near::Point(code) => return (code, true),
        Near::Around(near) => near,
    };
    let levels = levels(down, group);
    let mut best = (f32::MAX, near.codes()[0]);
    for &code in near.codes() {
        let mut sum = 0.0;
        for n in 0..8 {
            let away =
                scale * levels[usize::from(code >> (2 * n) & 3)] - part.values[8 * group + n];
            sum += part.weights[8 * group + n] * away * away;
        }
        if sum < best.0 {
            best = (sum, code);
        }
    }
    (best.1, false)
}
