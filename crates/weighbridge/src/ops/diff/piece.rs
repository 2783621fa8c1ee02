//! A piece of two weights: what of it lies outside what may lie between them.

use std::ops::Range;

use super::judge::Judge;
use super::precision::Precision;
use crate::bounds::Bounds;
use crate::compare::{
    COPIES, Outside, Place, RowSums, are_apart, are_outside_rounded, count_apart, count_disordered,
    count_outside, times_outside,
};
use crate::schemes::{RowRule, Rule};
use crate::simd;

/// Numbers below this are equally small: their fourth powers are zero in single precision.
const UNTOLD: f32 = 1e-9;

/// Elements of a piece that are placed and measured one by one.
const ONE_BY_ONE: usize = 64;

/// A row that is all zero on one side must not be larger than this on the other: scales that are
/// too small for half precision become zero.
const NEARLY_ZERO: f32 = 1e-4;

/// Fewer elements than this are no row that can be zero by mistake.
const SHORT_ROW: usize = 32;

/// A piece of both sides, to be judged.
pub(super) struct Piece<'a> {
    /// Their numbers.
    pub(super) values: [&'a [f32]; 2],
    /// Their bounds, where they are needed: none where everything is known to lie within them.
    pub(super) bounds: [&'a [Bounds]; 2],
    /// Elements of a row.
    pub(super) row: u64,
    /// Where the first element of the piece is among all.
    pub(super) first: u64,
}

impl Piece<'_> {
    /// Finds what lies outside.
    pub(super) fn look(&self, judge: &Judge, precision: &Precision) -> Outside {
        let mut found = Outside::default();
        match *judge {
            Judge::Unknown => {}
            Judge::Exact => self.look_at_all(precision, &mut found),
            Judge::Original { bounded, rule, rounded, .. } => {
                let (x, bounds) = (self.values[1 - bounded], self.bounds[bounded]);
                if count_outside(simd::level(), x, bounds, rounded) > 0 {
                    self.look_at_originals(bounded, rule, rounded, &mut found);
                    self.look_at_order(bounded, rule, &mut found);
                    found.unexplained = COPIES.map(|to| {
                        !judge.may_be_copied() || are_outside_rounded(simd::level(), to, x, bounds)
                    });
                }
                self.look_for_zeros(&mut found);
                if let Rule::BoundedOrByRows(_) = rule {
                    self.add_row_sums(&mut found);
                }
            }
            Judge::Overlap { refitted } => {
                if count_apart(simd::level(), self.bounds[0], self.bounds[1]) > 0 {
                    self.look_at_bounds(refitted.is_some(), &mut found);
                }
                self.look_for_zeros(&mut found);
            }
            Judge::Rows { stored, rule } => self.look_at_rows(stored, &rule, &mut found),
        }
        found
    }

    fn place(&self, at: usize, times: Option<f64>) -> Place {
        let [a, b] = self.values.map(|values| f64::from(values[at]));
        Place { index: self.first + at as u64, a, b, times }
    }

    /// Takes all that lies outside one by one; up to `limit` times, it has only moved.
    fn take_each(&self, times: impl Fn(usize) -> Option<f64>, limit: f64, found: &mut Outside) {
        for (at, times) in (0..self.values[0].len()).filter_map(|at| Some((at, times(at)?))) {
            let place = self.place(at, Some(times));
            let add = if times <= limit { Outside::add_moved } else { Outside::add };
            add(found, place, place.index / self.row);
        }
    }

    /// Stretches of rows in the piece: row and elements.
    fn rows(&self) -> impl Iterator<Item = (u64, Range<usize>)> {
        let len = self.values[0].len();
        let mut at = 0usize;
        std::iter::from_fn(move || {
            let (index, start) = (self.first + at as u64, at);
            let rest = usize::try_from(self.row - index % self.row).unwrap_or(usize::MAX);
            at = len.min(at.saturating_add(rest));
            (start < len).then_some((index / self.row, start..at))
        })
    }

    /// Takes what lies outside: the first few of the piece one by one, the rest by rows. Of a
    /// weight that is another one altogether, everything lies outside.
    fn take(
        &self,
        times: impl Fn(usize) -> Option<f64>,
        count: impl Fn(Range<usize>) -> u64,
        found: &mut Outside,
    ) {
        let mut taken = 0;
        for (row, elements) in self.rows() {
            let mut at = elements.start;
            while at < elements.end && taken < ONE_BY_ONE {
                if let Some(times) = times(at) {
                    found.add(self.place(at, Some(times).filter(|times| *times > 0.0)), row);
                    taken += 1;
                }
                at += 1;
            }
            found.add_counted(row, count(at..elements.end));
        }
    }

    /// Elements that are not the same, rounded or not.
    fn look_at_all(&self, precision: &Precision, found: &mut Outside) {
        let [a, b] = self.values;
        let is_same = |a: f32, b: f32| {
            a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || precision.is_rounded(a, b)
        };
        // There is no measure for how far out they are.
        let times = |at: usize| (!is_same(a[at], b[at])).then_some(0.0);
        let count = |elements: Range<usize>| {
            let pairs = a[elements.clone()].iter().zip(&b[elements]);
            pairs.filter(|(a, b)| !is_same(**a, **b)).count() as u64
        };
        self.take(times, count, found);
    }

    fn look_at_originals(&self, bounded: usize, rule: Rule, rounded: f32, found: &mut Outside) {
        let (x, stored, bounds) =
            (self.values[1 - bounded], self.values[bounded], self.bounds[bounded]);
        let times = |at: usize| times_outside(x[at], stored[at], bounds[at], rounded);
        let Rule::Refitted { loose, by_importance, .. } = rule else {
            let count = |elements: Range<usize>| {
                count_outside(simd::level(), &x[elements.clone()], &bounds[elements], rounded)
            };
            return self.take(times, count, found);
        };
        // How far out the farthest is decides.
        let limit = if by_importance { f64::from(loose) } else { 0.0 };
        self.take_each(times, limit, found);
    }

    fn look_at_bounds(&self, is_refitted: bool, found: &mut Outside) {
        let [a, b] = self.bounds;
        let times = |at: usize| {
            let [x, y] = self.values.map(|values| f64::from(values[at]));
            let reach = if x > y {
                x - f64::from(a[at].low) + f64::from(b[at].high) - y
            } else {
                f64::from(a[at].high) - x + y - f64::from(b[at].low)
            };
            let times = if reach > 0.0 { (x - y).abs() / reach } else { f64::INFINITY };
            are_apart(a[at], b[at]).then_some(times)
        };
        if is_refitted {
            // How far out the farthest is decides.
            return self.take_each(times, f64::NEG_INFINITY, found);
        }
        let count =
            |elements: Range<usize>| count_apart(simd::level(), &a[elements.clone()], &b[elements]);
        self.take(times, count, found);
    }

    /// Whether blocks with something outside are still in order.
    fn look_at_order(&self, bounded: usize, rule: Rule, found: &mut Outside) {
        let Rule::Refitted { block, by_importance, .. } = rule else { return };
        let [a, b] = self.values;
        let apart = |at: &usize| (a[*at] - b[*at]).abs();
        for (row, elements) in self.rows() {
            for elements in self.blocks(elements, block) {
                let (a, b) = (&a[elements.clone()], &b[elements.clone()]);
                let (x, stored) = if bounded == 1 { (a, b) } else { (b, a) };
                let disordered = count_disordered(x, stored);
                found.disordered += disordered;
                // The others are outside their bounds, and placed already.
                let farthest = elements.max_by(|i, j| apart(i).total_cmp(&apart(j)));
                if let Some(at) = farthest.filter(|_| by_importance && disordered > 0) {
                    found.add(self.place(at, None), row);
                }
            }
        }
    }

    /// The whole blocks of a stretch of a row. Blocks are counted from the start of the row.
    fn blocks(
        &self,
        elements: Range<usize>,
        block: u64,
    ) -> impl Iterator<Item = Range<usize>> + use<> {
        let column = (self.first + elements.start as u64) % self.row;
        let skip = usize::try_from(column.next_multiple_of(block.max(1)) - column).unwrap_or(0);
        let block = usize::try_from(block.max(1)).unwrap_or(usize::MAX);
        let start = elements.start + skip;
        let count = elements.end.saturating_sub(start) / block;
        (0..count).map(move |index| start + index * block..start + (index + 1) * block)
    }

    /// Whether rows are all zero on one side only, as far as can be told without bounds.
    pub(super) fn has_lost_rows(&self) -> bool {
        let mut found = Outside::default();
        self.look_for_zeros(&mut found);
        found.elements > 0
    }

    /// Rows that are all zero on one side only.
    fn look_for_zeros(&self, found: &mut Outside) {
        for (row, elements) in self.rows().filter(|(_, elements)| elements.len() >= SHORT_ROW) {
            let sides = self.values.map(|values| &values[elements.clone()]);
            let zero = sides.map(|side| side.iter().all(|x| *x == 0.0));
            if zero[0] == zero[1] {
                continue;
            }
            let (other, stored) =
                if zero[0] { (sides[1], self.bounds[0]) } else { (sides[0], self.bounds[1]) };
            // A type may say how much becomes zero; where it clips anything it says nothing.
            let is_expected = |at: usize, x: f32| {
                stored.get(elements.start + at).is_some_and(|bounds| {
                    bounds.low.is_finite() && bounds.high.is_finite() && bounds.contains(x)
                })
            };
            let is_lost = |(at, x): (usize, &f32)| x.abs() > NEARLY_ZERO && !is_expected(at, *x);
            let lost = other.iter().enumerate().position(is_lost);
            if let Some(at) = lost.filter(|_| found.rows.last() != Some(&row)) {
                found.add(self.place(elements.start + at, Some(f64::INFINITY)), row);
                found.unexplained = [true; COPIES.len()];
            }
        }
    }

    fn add_row_sums(&self, found: &mut Outside) {
        for (row, elements) in self.rows() {
            let [a, b] = self.values.map(|values| &values[elements.clone()]);
            found.add_sums(RowSums::of(row, a, b));
        }
    }

    fn look_at_rows(&self, stored: usize, rule: &RowRule, found: &mut Outside) {
        for (row, elements) in self.rows() {
            let [a, b] = self.values.map(|values| &values[elements.clone()]);
            found.add_sums(RowSums::of(row, a, b));
            if let Some(allowed) = rule.wrong_signs {
                for block in self.blocks(elements.clone(), rule.sparse_block.max(8)) {
                    self.look_at_signs(row, block, stored, allowed, found);
                }
            }
            let Some([least, most]) = rule.gain.filter(|_| rule.gain_over > 0) else { continue };
            for block in self.blocks(elements, rule.gain_over) {
                let sides = self.values.map(|values| &values[block.clone()]);
                let sums = RowSums::of(row, sides[0], sides[1]);
                if sums.is_below(rule.smallest, rule.gain_over) || is_sparse(sides[1 - stored]) {
                    continue;
                }
                let gain = sums.gain(1 - stored);
                if gain.is_some_and(|gain| !(least..=most).contains(&gain)) {
                    found.add(self.place(block.start, None), row);
                }
            }
        }
    }

    /// Eights of a block in which too many signs are the other, unless most of it is zero.
    fn look_at_signs(
        &self,
        row: u64,
        block: Range<usize>,
        stored: usize,
        allowed: u32,
        found: &mut Outside,
    ) {
        if is_sparse(&self.values[1 - stored][block.clone()]) {
            return;
        }
        let ([a, b], original) = (self.values, self.values[1 - stored]);
        for start in block.step_by(8) {
            let eight = start..a.len().min(start + 8);
            let is_wrong = |at: &usize| a[*at] * b[*at] < 0.0;
            let mut wrong = eight.clone().filter(is_wrong);
            let Some(first) = wrong.next() else { continue };
            let smallest = original[eight].iter().fold(f32::INFINITY, |x, y| x.min(y.abs()));
            let is_other = allowed == 1 && original[first].abs() > smallest.max(UNTOLD);
            if is_other || wrong.count() + 1 > allowed as usize {
                found.add(self.place(first, None), row);
            }
        }
    }
}

/// Whether most of some numbers are zero.
fn is_sparse(numbers: &[f32]) -> bool {
    numbers.iter().filter(|x| **x == 0.0).count() * 2 > numbers.len()
}
