//! The search for a scale and points of a grid: the definition.
//!
//! Several scales are tried. Each gives digits, which are rounded to points of the grid; those with
//! the best fit are kept, with the scale that fits them best. Then digits are rounded once more with
//! that scale.

use super::super::grids::cells::{Cells, Near};
use super::super::rounding::nearest;

/// How a type searches.
pub(in super::super) struct Rules {
    /// Steps that are tried to both sides of the plain scale.
    pub(in super::super) steps: i32,
    /// The size of a step.
    pub(in super::super) step: f32,
    /// Which points are found once more with the scale that was found.
    pub(in super::super) again: Again,
}

/// Which points are found once more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Again {
    /// All.
    All,
    /// Those whose digits were on no point.
    OffGrid,
    /// All, if the digits of any were on no point.
    AllIfOffGrid,
}

/// Numbers that share a scale.
pub(super) struct Part<'a, const N: usize> {
    /// Without their signs. (One of eight may be negative, where the number of signs is even.)
    pub(super) magnitudes: &'a [f32; N],
    pub(super) weights: &'a [f32; N],
    /// The roots of the weights.
    pub(super) roots: &'a [f32; N],
    /// What the search starts from: the scale, if none is better, and that of the largest number.
    pub(super) start: (f32, f32),
}

/// A scale, and the points of numbers that share it.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) scale: f32,
    /// Codes, for as many as there are.
    pub(super) points: [u16; 8],
}

/// Points for one scale.
#[derive(Clone, Copy)]
pub(super) struct Tried {
    pub(super) points: [u16; 8],
    /// Bit `n`: the digits of group `n` were a point.
    pub(super) on_grid: u8,
}

impl Rules {
    /// The scale and the points with the best fit.
    pub(super) fn search<const N: usize, const D: usize>(
        &self,
        cells: &Cells<D>,
        part: &Part<'_, N>,
    ) -> Found {
        let (mut scale, most) = part.start;
        let mut best = 0.0;
        let on_grid = if self.again == Again::OffGrid { u8::MAX } else { 0 };
        let mut kept = Tried { points: [0; 8], on_grid };
        for step in -self.steps..=self.steps {
            let inverse = (largest::<D>() + step as f32 * self.step) / most;
            let mut tried = Tried { points: [0; 8], on_grid: 0 };
            for group in 0..N / D {
                part.round(cells, group, inverse, 1.0 / inverse, &mut tried);
            }
            let (xq, qq) = part.fit::<D>(&tried.points);
            if qq > 0.0 && xq * xq > best * qq {
                scale = xq / qq;
                best = scale * xq;
                kept = tried;
            }
        }
        self.refine(cells, part, kept, scale)
    }

    /// Finds points once more with the scale that was found, and the scale that fits them.
    pub(super) fn refine<const N: usize, const D: usize>(
        &self,
        cells: &Cells<D>,
        part: &Part<'_, N>,
        mut kept: Tried,
        mut scale: f32,
    ) -> Found {
        let groups = N / D;
        let is_on_grid = |group: usize| kept.on_grid >> group & 1 == 1;
        let some_off_grid = (0..groups).any(|group| !is_on_grid(group));
        if scale > 0.0 && (some_off_grid || self.again == Again::All) {
            for group in 0..groups {
                if self.again != Again::OffGrid || kept.on_grid >> group & 1 == 0 {
                    part.round(cells, group, 1.0 / scale, scale, &mut kept);
                }
            }
            let (xq, qq) = part.fit::<D>(&kept.points);
            if qq > 0.0 {
                scale = xq / qq;
            }
        }
        Found { scale, points: kept.points }
    }
}

/// What the largest digit stands for.
#[inline(always)]
pub(super) fn largest<const D: usize>() -> f32 {
    if D == 8 { 5.0 } else { 15.0 }
}

impl<const N: usize> Part<'_, N> {
    /// Rounds a group to a point of the grid.
    fn round<const D: usize>(
        &self,
        cells: &Cells<D>,
        group: usize,
        inverse: f32,
        scale: f32,
        tried: &mut Tried,
    ) {
        let magnitudes = &self.magnitudes[group * D..][..D];
        let top = Cells::<D>::BASE as i32 - 1;
        let cell = magnitudes.iter().rev().fold(0, |cell, magnitude| {
            let digit = nearest(0.5 * (inverse * magnitude - 1.0)).clamp(0, top);
            cell * Cells::<D>::BASE + digit.unsigned_abs() as usize
        });
        (tried.points[group], tried.on_grid) = match cells.near(cell) {
            Near::Point(code) => (code, tried.on_grid | 1 << group),
            Near::Around(near) => {
                let roots = &self.roots[group * D..][..D];
                (nearest_point::<D>(near, magnitudes, roots, scale), tried.on_grid & !(1 << group))
            }
        };
    }

    /// The sums that say how well points fit: of weight times magnitude times number, and of weight
    /// times number squared.
    fn fit<const D: usize>(&self, points: &[u16; 8]) -> (f32, f32) {
        let mut sums = (0.0, 0.0);
        for (index, (x, w)) in self.magnitudes.iter().zip(self.weights).enumerate() {
            let q = number(Cells::<D>::digits(points[index / D])[index % D]);
            sums.0 += w * x * q;
            sums.1 += w * q * q;
        }
        sums
    }
}

/// What a digit stands for.
#[inline(always)]
fn number(digit: u8) -> f32 {
    f32::from(2 * digit + 1)
}

/// The nearest of some points, the first of equals.
fn nearest_point<const D: usize>(
    near: &[[u16; 8]],
    magnitudes: &[f32],
    roots: &[f32],
    scale: f32,
) -> u16 {
    let mut best = (f32::MAX, near[0][0]);
    for &code in near.as_flattened() {
        let mut sum = 0.0;
        for (digit, (x, w)) in
            Cells::<D>::digits(code).into_iter().zip(magnitudes.iter().zip(roots))
        {
            let away = scale * number(digit) - x;
            sum += w * away * away;
        }
        if sum < best.0 {
            best = (sum, code);
        }
    }
    best.1
}
