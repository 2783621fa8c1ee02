//! The search for a scale and points of a grid, eight scales at a time.
//!
//! Each lane is one scale, and makes its sums in the order of the definition; the best of them is
//! then chosen one after the other.

use super::super::grids::cells::{Cells, Near};
use super::search::{Found, Part, Rules, Tried, Way, numbers};
use crate::simd::Isa;
use crate::simd::by_digits::{Tables, Target};
use crate::simd::vector::{LANES, Parallel, Vector};

/// Beyond this, what is rounded to digits is no longer rounded to whole numbers.
const MOST_ROUNDED: f32 = 4_000_000.0;

/// Points for eight scales.
struct Eight {
    /// For each group, the codes of the eight.
    points: [[u16; LANES]; 8],
    /// For each scale, bit `n`: the digits of group `n` were a point.
    on_grid: [u8; LANES],
}

/// Searches with a set of instructions.
#[derive(Clone, Copy)]
pub(super) struct InLanes<I>(pub(super) I);

impl<I: Isa> Way for InLanes<I> {
    #[inline(always)]
    fn search<const N: usize, const D: usize>(
        self,
        rules: &Rules,
        cells: &Cells<D>,
        part: &Part<'_, N>,
    ) -> Found {
        rules.search_in_lanes(self.0, cells, part)
    }

    #[inline(always)]
    fn nearest<const D: usize>(self, near: &[[u16; 8]], target: &Target<'_, D>) -> u16 {
        self.0.nearest_code(near, target)
    }
}

impl Rules {
    /// The scale and the points with the best fit.
    #[inline(always)]
    fn search_in_lanes<I: Isa, const N: usize, const D: usize>(
        &self,
        isa: I,
        cells: &Cells<D>,
        part: &Part<'_, N>,
    ) -> Found {
        if !self.rounds_plainly::<N, D>(part) {
            return self.search(cells, part);
        }
        let tables = part.tables::<I, D>(isa);
        let mut best = self.start(part);
        let mut first = -self.steps;
        while first <= self.steps {
            let inverses = std::array::from_fn(|lane| {
                let step = first + i32::from(lane.to_le_bytes()[0]);
                self.inverse::<D>(step, part.start.1)
            });
            let count = usize::try_from(self.steps - first + 1).unwrap_or_default().min(LANES);
            let eight = part.round_eight(isa, cells, &inverses, count);
            let [xq, qq] = isa.sums_by_digits::<D>(&eight.points[..N / D], &tables);
            for lane in 0..count {
                if best.is_worse(xq[lane], qq[lane]) {
                    let points = eight.points.map(|group| group[lane]);
                    best.keep(xq[lane], qq[lane], Tried { points, on_grid: eight.on_grid[lane] });
                }
            }
            first += 8;
        }
        self.refine(cells, part, best, InLanes(isa))
    }

    /// Whether no number is so much larger than the largest magnitude that rounding fails.
    #[inline(always)]
    fn rounds_plainly<const N: usize, const D: usize>(&self, part: &Part<'_, N>) -> bool {
        let most = super::super::rounding::largest_magnitude(part.magnitudes);
        most * self.inverse::<D>(self.steps, part.start.1) < MOST_ROUNDED
    }
}

impl<const N: usize> Part<'_, N> {
    /// For each number and each digit, what is summed.
    #[inline(always)]
    fn tables<I: Isa, const D: usize>(&self, isa: I) -> [Tables; N] {
        let numbers = isa.load(numbers::<D>());
        let mut tables = [[[0.0; LANES]; 2]; N];
        for (table, (&x, &w)) in tables.iter_mut().zip(self.magnitudes.iter().zip(self.weights)) {
            (isa.splat(w * x) * numbers).store(&mut table[0]);
            (isa.splat(w) * numbers * numbers).store(&mut table[1]);
        }
        tables
    }

    /// Rounds all groups to points for eight scales, of which `count` matter.
    #[inline(always)]
    fn round_eight<I: Isa, const D: usize>(
        &self,
        isa: I,
        cells: &Cells<D>,
        inverses: &[f32; LANES],
        count: usize,
    ) -> Eight {
        let inverse = isa.load(inverses);
        let scales = (isa.splat(1.0) / inverse).lanes();
        let mut eight = Eight { points: [[0; LANES]; 8], on_grid: [0; LANES] };
        for group in 0..N / D {
            let numbers = self.cells_of::<I, D>(isa, group, inverse);
            for lane in 0..count {
                let cell = usize::try_from(numbers[lane]).unwrap_or_default();
                eight.points[group][lane] = match cells.near(cell) {
                    Near::Point(code) => {
                        eight.on_grid[lane] |= 1 << group;
                        code
                    }
                    Near::Around(near) => {
                        isa.nearest_code::<D>(near, &self.target(group, scales[lane]))
                    }
                };
            }
        }
        eight
    }

    /// The cells of a group for eight scales.
    #[inline(always)]
    fn cells_of<I: Isa, const D: usize>(
        &self,
        isa: I,
        group: usize,
        inverse: I::Vector,
    ) -> [i32; LANES] {
        let top = isa.splat((Cells::<D>::BASE - 1) as f32);
        let (zero, one, half) = (isa.splat(0.0), isa.splat(1.0), isa.splat(0.5));
        let (mut cell, mut place) = (zero, 1.0);
        for &magnitude in &self.magnitudes[group * D..][..D] {
            let digit = (half * (inverse * isa.splat(magnitude) - one)).round();
            cell = cell + digit.max(zero).min(top) * isa.splat(place);
            place *= Cells::<D>::BASE as f32;
        }
        cell.to_ints()
    }
}
