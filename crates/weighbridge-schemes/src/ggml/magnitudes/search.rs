//! The search for a scale and points of a grid: the definition.
//!
//! Several scales are tried. Each gives digits, which are rounded to points of the grid; those with
//! the best fit are kept, with the scale that fits them best. Then digits are rounded once more with
//! that scale.

use super::super::grids::cells::{Cells, Near};
use super::super::grids::picking::{Picks, Plain};
use super::super::search::nearest;
#[cfg(test)]
use super::super::search::positive;
use crate::simd::by_digits::Target;
use crate::simd::vector::LANES;

/// The largest digit of those that fitted scales are for.
pub(super) const FIRST_TOP: u8 = 4;

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
    /// Codes, for as many as there are.
    pub(super) points: [u16; 8],
    /// Bit `n`: the digits of group `n` were a point.
    pub(super) on_grid: u8,
}

/// The best so far.
pub(super) struct Best {
    scale: f32,
    score: f32,
    tried: Tried,
}

impl Best {
    /// Whether points with these sums fit better.
    #[inline(always)]
    pub(super) fn is_worse(&self, xq: f32, qq: f32) -> bool {
        qq > 0.0 && xq * xq > self.score * qq
    }

    /// Keeps points with these sums.
    #[inline(always)]
    pub(super) fn keep(&mut self, xq: f32, qq: f32, tried: Tried) {
        let scale = xq / qq;
        *self = Self { scale, score: scale * xq, tried };
    }
}

impl Rules {
    /// The scale and the points with the best fit.
    pub(super) fn search<const N: usize, const D: usize>(
        &self,
        cells: &Cells<D>,
        part: &Part<'_, N>,
    ) -> Found {
        let mut best = self.start(part);
        for step in -self.steps..=self.steps {
            let inverse = self.inverse::<D>(step, part.start.1);
            let mut tried = Tried { points: [0; 8], on_grid: 0 };
            for group in 0..N / D {
                part.round(cells, group, (inverse, 1.0 / inverse), &mut tried, Plain);
            }
            let (xq, qq) = part.fit::<D>(&tried.points);
            if best.is_worse(xq, qq) {
                best.keep(xq, qq, tried);
            }
        }
        self.refine(cells, part, &best, Plain)
    }

    /// What is kept if no scale is better.
    #[inline(always)]
    pub(super) fn start<const N: usize>(&self, part: &Part<'_, N>) -> Best {
        let on_grid = if self.again == Again::OffGrid { u8::MAX } else { 0 };
        Best { scale: part.start.0, score: 0.0, tried: Tried { points: [0; 8], on_grid } }
    }

    /// One over the scale of a step.
    #[inline(always)]
    pub(super) fn inverse<const D: usize>(&self, step: i32, most: f32) -> f32 {
        (largest::<D>() + step as f32 * self.step) / most
    }

    /// Finds points once more with the scale that was found, and the scale that fits them.
    #[inline(always)]
    pub(super) fn refine<const N: usize, const D: usize>(
        &self,
        cells: &Cells<D>,
        part: &Part<'_, N>,
        best: &Best,
        way: impl Picks,
    ) -> Found {
        let &Best { mut scale, mut tried, .. } = best;
        let on_grid = tried.on_grid;
        let off_grid = (0..N / D).filter(|group| on_grid >> group & 1 == 0).count();
        if scale > 0.0 && (off_grid > 0 || self.again == Again::All) {
            for group in 0..N / D {
                if self.again != Again::OffGrid || on_grid >> group & 1 == 0 {
                    part.round(cells, group, (1.0 / scale, scale), &mut tried, way);
                }
            }
            let (xq, qq) = part.fit::<D>(&tried.points);
            if qq > 0.0 {
                scale = xq / qq;
            }
        }
        Found { scale, points: tried.points }
    }
}

/// What the largest digit stands for.
#[inline(always)]
pub(super) fn largest<const D: usize>() -> f32 {
    if D == 8 { 5.0 } else { 15.0 }
}

/// What digits stand for.
#[inline(always)]
pub(super) fn numbers<const D: usize>() -> &'static [f32; 8] {
    match D {
        8 => &[1.0, 3.0, 5.0, 7.0, 1.0, 3.0, 5.0, 7.0],
        _ => &[1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0],
    }
}

/// A way to search.
pub(super) trait Way: Picks {
    /// The scales that the eight parts of a block start from, if they are fitted.
    fn first_scales(self, magnitudes: &[f32; 256], weights: &[f32; 256]) -> [f32; LANES];

    /// The scale and the points with the best fit.
    fn search<const N: usize, const D: usize>(
        self,
        rules: &Rules,
        cells: &Cells<D>,
        part: &Part<'_, N>,
    ) -> Found;
}

#[cfg(test)]
impl Way for Plain {
    fn first_scales(self, magnitudes: &[f32; 256], weights: &[f32; 256]) -> [f32; LANES] {
        let (magnitudes, weights) = (magnitudes.as_chunks::<32>().0, weights.as_chunks::<32>().0);
        let scale = |part| positive::define(FIRST_TOP, &magnitudes[part], &weights[part]).scale;
        std::array::from_fn(scale)
    }

    #[inline(always)]
    fn search<const N: usize, const D: usize>(
        self,
        rules: &Rules,
        cells: &Cells<D>,
        part: &Part<'_, N>,
    ) -> Found {
        rules.search(cells, part)
    }
}

impl<const N: usize> Part<'_, N> {
    /// Rounds a group to a point of the grid, with one over a scale and that scale.
    #[inline(always)]
    fn round<const D: usize>(
        &self,
        cells: &Cells<D>,
        group: usize,
        (inverse, scale): (f32, f32),
        tried: &mut Tried,
        way: impl Picks,
    ) {
        let top = i32::from(Cells::<D>::TOP);
        let magnitudes = self.magnitudes[group * D..][..D].iter();
        let cell = magnitudes.rev().fold(0, |cell, magnitude| {
            let digit = nearest(0.5 * (inverse * magnitude - 1.0)).clamp(0, top);
            cell * Cells::<D>::BASE + digit.unsigned_abs() as usize
        });
        let (point, bit) = match cells.near(cell) {
            Near::Point(code) => (code, 1),
            Near::Around(near) => (way.nearest::<D>(near, &self.target(group, scale)), 0),
        };
        tried.points[group] = point;
        tried.on_grid = tried.on_grid & !(1 << group) | bit << group;
    }

    /// What the points of a group are compared with.
    #[inline(always)]
    pub(super) fn target<const D: usize>(&self, group: usize, scale: f32) -> Target<'_, D> {
        let (values, weights) =
            (&self.magnitudes.as_chunks().0[group], &self.roots.as_chunks().0[group]);
        Target { values, weights, numbers: numbers::<D>(), scale }
    }

    /// The sums that say how well points fit: of weight times magnitude times number, and of weight
    /// times number squared.
    #[inline(always)]
    fn fit<const D: usize>(&self, points: &[u16; 8]) -> (f32, f32) {
        let mut sums = (0.0, 0.0);
        for (index, (x, w)) in self.magnitudes.iter().zip(self.weights).enumerate() {
            let q = numbers::<D>()[usize::from(Cells::<D>::digits(points[index / D])[index % D])];
            sums.0 += w * x * q;
            sums.1 += w * q * q;
        }
        sums
    }
}
