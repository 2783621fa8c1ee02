//! How far two copies of one weight may differ, by how each side is stored.

use std::ops::Range;

use super::precision::Precision;
use super::report::Status;
use crate::bounds::Bounds;
use crate::compare::{
    Outside, Place, RowSums, Statistics, are_apart, count_apart, count_disordered, count_outside,
    times_outside,
};
use crate::dtype::DType;
use crate::model::Weight;
use crate::schemes::{RowRule, Rule};
use crate::simd;

/// From this share of rows with something outside, it is the quantizer's doing: it refitted the
/// scales, or chose codes together.
const MANY_ROWS: f64 = 0.1;

/// How far refitting its scales may scale a whole weight.
const REFITTED_GAIN: f64 = 0.02;

/// A row that is all zero on one side must not be larger than this on the other: scales that are
/// too small for half precision become zero.
const NEARLY_ZERO: f32 = 1e-4;

/// Numbers below this count as equally small: their fourth powers are zero in single precision.
const UNTOLD: f32 = 1e-9;

/// Rows shorter than this are not checked for being zero on one side only.
const SHORT_ROW: usize = 32;

/// How a pair is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Judge {
    /// One side holds the numbers of the other exactly, or rounded to its own type.
    Exact,
    /// The numbers of one side lie within the bounds of the other.
    Original {
        /// The side with the bounds: 0 for A, 1 for B.
        bounded: usize,
        /// The rule that holds for it.
        rule: Rule,
        /// The share by which the other side may have been rounded itself.
        rounded: f32,
    },
    /// Both sides have bounds, which meet.
    Overlap {
        /// Of the looser rule, `loose` and `by_importance`, where it allows for refitted scales.
        refitted: Option<(f32, bool)>,
    },
    /// Signs and rows are looked at.
    Rows {
        /// The side that the rule is about.
        stored: usize,
        /// The rule.
        rule: RowRule,
    },
    /// Nobody knows what storing a side loses.
    Unknown,
}

impl Judge {
    pub(super) fn of(a: &Weight, b: &Weight) -> Self {
        if a.scheme() == b.scheme() && a.variant() == b.variant() {
            return Self::Exact;
        }
        match (a.is_plain(), b.is_plain()) {
            (true, true) if is_either_16_bits(a, b) => Self::Overlap { refitted: None },
            (true, true) => Self::Exact,
            (true, false) => Self::of_stored(a, b, 1),
            (false, true) => Self::of_stored(b, a, 0),
            (false, false) => Self::of_two(a.origin_rule(), b.origin_rule()),
        }
    }

    /// One side is plain, the other is stored with loss.
    fn of_stored(plain: &Weight, stored: &Weight, bounded: usize) -> Self {
        let rounded = match plain.native() {
            Some(DType::BF16) => 1.0 / 256.0,
            Some(DType::F16) => 1.0 / 2048.0,
            _ => 0.0,
        };
        match stored.origin_rule() {
            None => Self::Unknown,
            Some(Rule::ByRows(rule)) => Self::Rows { stored: bounded, rule },
            Some(rule) => Self::Original { bounded, rule, rounded },
        }
    }

    fn of_two(a: Option<Rule>, b: Option<Rule>) -> Self {
        match (a, b) {
            (Some(Rule::ByRows(rule) | Rule::BoundedOrByRows(rule)), Some(_)) => {
                Self::Rows { stored: 0, rule: by_far(rule) }
            }
            (Some(_), Some(Rule::ByRows(rule) | Rule::BoundedOrByRows(rule))) => {
                Self::Rows { stored: 1, rule: by_far(rule) }
            }
            (Some(a), Some(b)) => {
                let refitted = [a, b].into_iter().find_map(|rule| match rule {
                    Rule::Refitted { loose, by_importance, .. } => Some((loose, by_importance)),
                    _ => None,
                });
                Self::Overlap { refitted }
            }
            _ => Self::Unknown,
        }
    }

    /// What is asked of each element or row, in a word.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Exact => "equal",
            Self::Original { .. } => "nearest-level",
            Self::Overlap { .. } => "overlapping-cells",
            Self::Rows { .. } => "rows",
            Self::Unknown => "none",
        }
    }

    /// Whether the bounds of a side are needed.
    pub(super) fn needs_bounds(&self, side: usize) -> bool {
        match self {
            Self::Original { bounded, .. } => *bounded == side,
            Self::Overlap { .. } => true,
            _ => false,
        }
    }

    /// Whether elements that are finite on one side only are among those found outside.
    pub(super) fn counts_unlike(&self) -> bool {
        *self == Self::Exact
    }

    /// The status of two weights that are not the same, rounded or not.
    pub(super) fn status(&self, outside: &Outside, stats: &Statistics, rows: u64) -> Status {
        let is_within = match self {
            Self::Unknown => return Status::Unjudged,
            Self::Exact => false,
            Self::Original { bounded, rule, .. } => match rule {
                Rule::Refitted { tight, loose, by_importance, .. } => {
                    let gain = match bounded {
                        1 => stats.products / stats.squares_b,
                        _ => stats.products / stats.squares_a,
                    };
                    is_refitted(outside, rows, (*tight, *loose, *by_importance), gain)
                }
                _ => outside.elements == 0 && outside.rows.is_empty(),
            },
            Self::Overlap { refitted: Some((loose, by_importance)) } => {
                is_refitted(outside, rows, (*loose, *loose, *by_importance), 1.0)
            }
            Self::Overlap { refitted: None } => outside.elements == 0 && outside.rows.is_empty(),
            Self::Rows { .. } => outside.rows.is_empty(),
        };
        if is_within { Status::WithinPrecision } else { Status::Changed }
    }
}

/// Whether so many rows have something outside that it is the quantizer's doing.
#[allow(clippy::cast_precision_loss)] // A share of rows.
fn are_many(outside: &Outside, rows: u64) -> bool {
    outside.rows.len() as f64 >= MANY_ROWS * rows as f64
}

/// Whether what lies outside is no more than refitting the scales can move.
#[allow(clippy::cast_precision_loss)] // A share of rows.
fn is_refitted(
    outside: &Outside,
    rows: u64,
    (tight, loose, by_importance): (f32, f32, bool),
    gain: f64,
) -> bool {
    if let Some(moved) = outside.moved.as_ref().filter(|_| outside.elements == 0) {
        return is_refitted(moved, rows, (tight, loose, by_importance), gain);
    }
    let farthest = outside.worst.and_then(|worst| worst.times).unwrap_or(0.0);
    let many = are_many(outside, rows);
    let limit = if by_importance || many { loose } else { tight };
    let is_kept_in_size = (gain - 1.0).abs() <= REFITTED_GAIN || !(by_importance || many);
    outside.elements == 0
        || outside.disordered == 0 && farthest <= f64::from(limit) && is_kept_in_size
}

/// What is left of a rule where the other side is not an original but stored with loss as well:
/// its small numbers may have any sign.
fn by_far(rule: RowRule) -> RowRule {
    let correlation = rule.correlation / 2.0;
    RowRule { wrong_signs: None, gain: None, row_gain: None, correlation, ..rule }
}

/// Whether neither of two floating-point types holds the other.
fn is_either_16_bits(a: &Weight, b: &Weight) -> bool {
    let types = [a.native(), b.native()];
    types == [Some(DType::BF16), Some(DType::F16)] || types == [Some(DType::F16), Some(DType::BF16)]
}

/// A piece of both sides, to be judged.
pub(super) struct Piece<'a> {
    /// Their numbers.
    pub(super) values: [&'a [f32]; 2],
    /// Their bounds, where they are needed.
    pub(super) bounds: [&'a [Bounds]; 2],
    /// Elements of a row.
    pub(super) row: u64,
    /// Gives the index among all elements for one in the piece.
    pub(super) index: &'a dyn Fn(u64) -> u64,
}

impl Piece<'_> {
    /// Finds what lies outside. `same` says whether all of it is the same on both sides, rounded
    /// or not.
    pub(super) fn look(&self, judge: &Judge, precision: &Precision, same: bool) -> Outside {
        let mut found = Outside::default();
        match *judge {
            Judge::Unknown => {}
            Judge::Exact if same => {}
            Judge::Exact => self.look_at_all(precision, &mut found),
            Judge::Original { bounded, rule, rounded } => {
                let (x, bounds) = (self.values[1 - bounded], self.bounds[bounded]);
                if count_outside(simd::level(), x, bounds, rounded) > 0 {
                    self.look_at_originals(bounded, rule, rounded, &mut found);
                    self.look_at_order(bounded, rule, &mut found);
                }
                self.look_for_zeros(&mut found);
                if let Rule::BoundedOrByRows(_) = rule {
                    self.add_row_sums(&mut found);
                }
            }
            Judge::Overlap { .. } => {
                if count_apart(simd::level(), self.bounds[0], self.bounds[1]) > 0 {
                    self.look_at_bounds(&mut found);
                }
                self.look_for_zeros(&mut found);
            }
            Judge::Rows { stored, rule } => self.look_at_rows(stored, &rule, &mut found),
        }
        found
    }

    fn place(&self, at: usize, times: Option<f64>) -> Place {
        let [a, b] = self.values.map(|values| f64::from(values[at]));
        Place { index: (self.index)(at as u64), a, b, times }
    }

    fn add(&self, at: usize, times: Option<f64>, found: &mut Outside) {
        let place = self.place(at, times);
        found.add(place, place.index / self.row);
    }

    /// The rows in the piece, each with the elements of it that are here.
    fn rows(&self) -> impl Iterator<Item = (u64, Range<usize>)> {
        let len = self.values[0].len();
        let mut at = 0usize;
        std::iter::from_fn(move || {
            let index = (self.index)(at as u64);
            let start = at;
            // Elements of a piece lie together, or are columns of some rows.
            let rest = usize::try_from(self.row - index % self.row).unwrap_or(usize::MAX);
            let mut end = len.min(at.saturating_add(rest));
            if end > start && (self.index)(end as u64 - 1) != index + (end - 1 - start) as u64 {
                end = (start + 1..end)
                    .find(|&at| (self.index)(at as u64) != index + (at - start) as u64)
                    .unwrap_or(end);
            }
            at = end;
            (start < len).then_some((index / self.row, start..end))
        })
    }

    /// Elements that are not the same, rounded or not.
    fn look_at_all(&self, precision: &Precision, found: &mut Outside) {
        let [a, b] = self.values;
        let is_same = |at: usize| {
            let (a, b) = (a[at], b[at]);
            a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan() || precision.is_rounded(a, b)
        };
        for (row, elements) in self.rows() {
            for at in elements.clone() {
                if !is_same(at) {
                    found.add(self.place(at, None), row);
                }
            }
        }
    }

    fn look_at_originals(&self, bounded: usize, rule: Rule, rounded: f32, found: &mut Outside) {
        let (x, stored) = (self.values[1 - bounded], self.values[bounded]);
        let limit = match rule {
            Rule::Refitted { loose, by_importance: true, .. } => f64::from(loose),
            _ => 0.0,
        };
        for at in 0..x.len() {
            match times_outside(x[at], stored[at], self.bounds[bounded][at], rounded) {
                Some(times) if times <= limit => {
                    let place = self.place(at, Some(times));
                    found.add_moved(place, place.index / self.row);
                }
                Some(times) => self.add(at, Some(times), found),
                None => {}
            }
        }
    }

    fn look_at_bounds(&self, found: &mut Outside) {
        let [a, b] = self.bounds;
        for at in (0..a.len()).filter(|&at| are_apart(a[at], b[at])) {
            let [x, y] = self.values.map(|values| f64::from(values[at]));
            let reach = if x > y {
                x - f64::from(a[at].low) + f64::from(b[at].high) - y
            } else {
                f64::from(a[at].high) - x + y - f64::from(b[at].low)
            };
            let times = if reach > 0.0 { (x - y).abs() / reach } else { f64::INFINITY };
            self.add(at, Some(times), found);
        }
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
                // Without an importance matrix, what lies outside is placed already.
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
        let column = (self.index)(elements.start as u64) % self.row;
        let skip = usize::try_from(column.next_multiple_of(block.max(1)) - column).unwrap_or(0);
        let block = usize::try_from(block.max(1)).unwrap_or(usize::MAX);
        let start = elements.start + skip;
        let count = elements.end.saturating_sub(start) / block;
        (0..count).map(move |index| start + index * block..start + (index + 1) * block)
    }

    /// Rows that are all zero on one side only.
    fn look_for_zeros(&self, found: &mut Outside) {
        for (row, elements) in self.rows().filter(|(_, elements)| elements.len() >= SHORT_ROW) {
            let sides = self.values.map(|values| &values[elements.clone()]);
            let zero = sides.map(|side| side.iter().all(|x| *x == 0.0));
            if zero[0] == zero[1] {
                continue;
            }
            let (other, stored) = match zero[0] {
                true => (sides[1], self.bounds[0]),
                false => (sides[0], self.bounds[1]),
            };
            // Bounds may say how much becomes zero; infinite ones say nothing.
            let is_expected = |at: usize, x: f32| {
                stored.get(elements.start + at).is_some_and(|bounds| {
                    bounds.low.is_finite() && bounds.high.is_finite() && bounds.contains(x)
                })
            };
            let is_lost = |(at, x): (usize, &f32)| x.abs() > NEARLY_ZERO && !is_expected(at, *x);
            let lost = other.iter().enumerate().position(is_lost);
            if let Some(at) = lost.filter(|_| found.rows.last() != Some(&row)) {
                found.add(self.place(elements.start + at, Some(f64::INFINITY)), row);
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

    /// Groups of eight in which too many signs differ, unless most of the block is zero.
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

/// Whether most of the numbers are zero.
fn is_sparse(numbers: &[f32]) -> bool {
    numbers.iter().filter(|x| **x == 0.0).count() * 2 > numbers.len()
}

/// Adds the rows that are unlike their originals; the weight has `rows` of them in all.
pub(super) fn settle_rows(judge: &Judge, found: &mut Outside, rows: u64) {
    found.settle();
    let (stored, rule) = match judge {
        Judge::Rows { stored, rule } => (stored, rule),
        // Codes were chosen together: single numbers say nothing.
        Judge::Original { bounded, rule: Rule::BoundedOrByRows(rule), .. }
            if are_many(found, rows) =>
        {
            let row_sums = std::mem::take(&mut found.row_sums);
            *found = Outside { row_sums, ..Outside::default() };
            (bounded, rule)
        }
        _ => return,
    };
    let is_wrong = |sums: &&RowSums| {
        let zero = [sums.squares_a == 0.0, sums.squares_b == 0.0];
        let gain = sums.gain(1 - stored);
        let bent = rule
            .row_gain
            .zip(gain)
            .is_some_and(|([least, most], gain)| gain < least || gain > most);
        // A grid has no level at zero, so most of a sparse row is stored as other numbers.
        let is_sparse = sums.zeros[1 - stored] * 2 > sums.elements;
        let least = if is_sparse { rule.correlation / 2.0 } else { rule.correlation };
        let is_unlike = zero[0] != zero[1] || sums.correlation() < least || bent;
        zero != [true; 2] && !sums.is_below(rule.smallest, rule.gain_over) && is_unlike
    };
    let wrong: Vec<u64> = found.row_sums.iter().filter(is_wrong).map(|sums| sums.row).collect();
    found.rows.extend(wrong);
    found.settle();
}
