//! The search for a scale and points of a grid, eight scales at a time.
//!
//! Each lane is one scale, and makes its sums in the order of the definition; the best of them is
//! then chosen one after the other.

use super::super::grids::cells::{Cells, Near};
use super::super::grids::picking::InLanes;
use super::super::search::positive;
use super::search::{FIRST_TOP, Found, Part, Rules, Tried, Way, numbers};
use crate::simd::Isa;
use crate::simd::by_digits::Tables;
use crate::simd::vector::{LANES, Mask, Parallel, Vector};

/// Beyond this, what is rounded to digits is no longer rounded to whole numbers.
const MOST_ROUNDED: f32 = 4_000_000.0;

/// So few scales are looked at one after the other.
const FEW: usize = 4;

/// Points for eight scales.
struct Eight {
    /// For each group, the codes of the eight.
    points: [[u16; LANES]; 8],
    /// For each group, bit `n`: its digits for scale `n` were a point.
    on_grid: [u8; 8],
}

impl Eight {
    /// Those of one scale.
    #[inline(always)]
    fn tried(&self, lane: usize) -> Tried {
        let bit = |group: usize| (self.on_grid[group] >> lane & 1) << group;
        let on_grid = (0..8).fold(0, |bits, group| bits | bit(group));
        Tried { points: self.points.map(|group| group[lane]), on_grid }
    }
}

impl<I: Isa> Way for InLanes<I> {
    #[inline(always)]
    fn first_scales(self, magnitudes: &[f32; 256], weights: &[f32; 256]) -> [f32; LANES] {
        let (magnitudes, weights) = (magnitudes.as_chunks().0, weights.as_chunks().0);
        positive::eight::<I, 32>(self.0, FIRST_TOP, magnitudes, weights).map(|found| found.scale)
    }

    #[inline(always)]
    fn search<const N: usize, const D: usize>(
        self,
        rules: &Rules,
        cells: &Cells<D>,
        part: &Part<'_, N>,
    ) -> Found {
        rules.search_in_lanes(self.0, cells, part)
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
                    best.keep(xq[lane], qq[lane], eight.tried(lane));
                }
            }
            first += 8;
        }
        self.refine(cells, part, &best, InLanes(isa))
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
        let scales = isa.splat(1.0) / inverse;
        // Loops, not closures, which would be compiled without the instructions.
        let mut scaled = [scales; 8];
        for (scaled, &number) in scaled.iter_mut().zip(numbers::<D>()) {
            *scaled = scales * isa.splat(number);
        }
        // All cells first: what follows branches on them.
        let mut rounded = [scales; 8];
        for (group, rounded) in rounded.iter_mut().take(N / D).enumerate() {
            *rounded = self.cell_numbers::<I, D>(isa, group, inverse);
        }
        let mut eight = Eight { points: [[0; LANES]; 8], on_grid: [0; 8] };
        for (group, &rounded) in rounded.iter().take(N / D).enumerate() {
            let found = match count {
                0..FEW => self.round_few(isa, cells, group, rounded, scales, count),
                _ => self.round_group(isa, cells, group, rounded, &scaled, count),
            };
            (eight.points[group], eight.on_grid[group]) = found;
        }
        eight
    }

    /// [`round_group`](Self::round_group), one scale after the other.
    #[inline(always)]
    fn round_few<I: Isa, const D: usize>(
        &self,
        isa: I,
        cells: &Cells<D>,
        group: usize,
        cell_numbers: I::Vector,
        scales: I::Vector,
        count: usize,
    ) -> ([u16; LANES], u8) {
        let (each, scales) = (cell_numbers.to_ints(), scales.lanes());
        let (mut points, mut on_grid) = ([0; LANES], 0);
        for lane in 0..count {
            points[lane] = match cells.near(usize::try_from(each[lane]).unwrap_or_default()) {
                Near::Point(code) => {
                    on_grid |= 1 << lane;
                    code
                }
                Near::Around(near) => {
                    isa.nearest_code::<D>(near, &self.target(group, scales[lane]))
                }
            };
        }
        (points, on_grid)
    }

    /// Rounds a group to points for eight scales: codes, and a bit for each lane whose digits were
    /// a point. `numbers` are what digits stand for.
    #[inline(always)]
    fn round_group<I: Isa, const D: usize>(
        &self,
        isa: I,
        cells: &Cells<D>,
        group: usize,
        cell_numbers: I::Vector,
        numbers: &[I::Vector; 8],
        count: usize,
    ) -> ([u16; LANES], u8) {
        let each = cell_numbers.to_ints();
        let errors = self.errors::<I, D>(isa, group, numbers);
        let (mut codes, mut on_grid) = (isa.splat(0.0), 0);
        let mut left = u8::MAX >> (LANES - count);
        // Lanes that are in one cell are looked at together.
        while left != 0 {
            let cell = each[left.trailing_zeros() as usize];
            let here = cell_numbers.equals(isa.splat(cell as f32));
            left &= !here.bits();
            let (near, is_point) = cells.codes(usize::try_from(cell).unwrap_or_default());
            on_grid |= if is_point { here.bits() } else { 0 };
            let code = nearest_codes::<I, D>(isa, near, &errors);
            codes = code.or(codes, here);
        }
        let mut points = [0; LANES];
        for (point, code) in points.iter_mut().zip(codes.lanes()) {
            #[allow(clippy::cast_possible_truncation)] // It was a u16.
            let code = code.to_bits() as u16;
            *point = code;
        }
        (points, on_grid)
    }

    /// The numbers of a group's cells for eight scales.
    #[inline(always)]
    fn cell_numbers<I: Isa, const D: usize>(
        &self,
        isa: I,
        group: usize,
        inverse: I::Vector,
    ) -> I::Vector {
        let top = isa.splat(f32::from(Cells::<D>::TOP));
        let (zero, one, half) = (isa.splat(0.0), isa.splat(1.0), isa.splat(0.5));
        let (mut cell, mut place) = (zero, 1.0);
        for &magnitude in &self.magnitudes[group * D..][..D] {
            let digit = (half * (inverse * isa.splat(magnitude) - one)).round();
            cell = cell + digit.max(zero).min(top) * isa.splat(place);
            place *= Cells::<D>::BASE as f32;
        }
        cell
    }

    /// What each digit of each number of a group adds to the error, for eight scales.
    #[inline(always)]
    fn errors<I: Isa, const D: usize>(
        &self,
        isa: I,
        group: usize,
        numbers: &[I::Vector; 8],
    ) -> [[I::Vector; 8]; D] {
        let magnitudes: &[f32; D] = &self.magnitudes.as_chunks().0[group];
        let roots: &[f32; D] = &self.roots.as_chunks().0[group];
        let mut errors = [[isa.splat(0.0); 8]; D];
        for (place, errors) in errors.iter_mut().enumerate() {
            let (magnitude, root) = (isa.splat(magnitudes[place]), isa.splat(roots[place]));
            for digit in 0..Cells::<D>::BASE {
                let away = numbers[digit] - magnitude;
                errors[digit] = root * away * away;
            }
        }
        errors
    }
}

/// The codes with the least error, for eight scales: the bits of the numbers.
#[inline(always)]
fn nearest_codes<I: Isa, const D: usize>(
    isa: I,
    codes: &[u16],
    errors: &[[I::Vector; 8]; D],
) -> I::Vector {
    let bits = |code: u16| f32::from_bits(u32::from(code));
    let mut best = (isa.splat(f32::MAX), isa.splat(bits(codes[0])));
    for &code in codes {
        let digit = |place: usize| {
            usize::from(code >> (Cells::<D>::BITS * place)) & ((1 << Cells::<D>::BITS) - 1)
        };
        let mut sum = errors[0][digit(0)];
        for (place, errors) in errors.iter().enumerate().skip(1) {
            sum = sum + errors[digit(place)];
        }
        let is_less = sum.less(best.0);
        best = (sum.or(best.0, is_less), isa.splat(bits(code)).or(best.1, is_less));
    }
    best.1
}
