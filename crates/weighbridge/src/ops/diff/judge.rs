//! How far two copies of one weight may differ, by how each side is stored.

use serde::Serialize;

use crate::compare::{Outside, RowSums, Statistics};
use crate::dtype::DType;
use crate::model::Weight;
use crate::schemes::{RowRule, Rule};

/// From this share of rows with something outside, scales were refitted.
const REFITTED_ROWS: f64 = 0.1;

/// Threshold where codes were chosen together: every row has something outside then (98 in a hundred
/// rows of 64 columns, and more of longer ones), and many elements have (7 in a hundred and more).
const TOGETHER_ROWS: f64 = 0.5;
const TOGETHER_ELEMENTS: f64 = 0.02;

/// Fewer rows than this are never the quantizer's doing, however few rows there are: a change of
/// one row, or of two that are exchanged, is no rule.
const LEAST_ROWS: usize = 3;

/// How far refitting its scales may scale a whole weight.
const REFITTED_GAIN: f64 = 0.02;

/// The result of comparing two weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// Every number is the same to the bit.
    Identical,
    /// One side is the other, correctly rounded to its type.
    EqualAfterRounding,
    /// Everything lies within what the storage of the lossier side can hold.
    WithinPrecision,
    /// Something does not.
    Changed,
    /// Nobody knows what the storage of a side loses: there are figures, and no verdict.
    Unjudged,
    /// The shapes differ.
    Shape,
    /// The numbers of a side cannot be decoded.
    Undecoded,
    /// Names, shapes and types match; the numbers were not compared.
    #[default]
    Uncompared,
}

impl Status {
    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::EqualAfterRounding => "equal-after-rounding",
            Self::WithinPrecision => "within-precision",
            Self::Changed => "changed",
            Self::Unjudged => "unjudged",
            Self::Shape => "shape",
            Self::Undecoded => "undecoded",
            Self::Uncompared => "uncompared",
        }
    }
}

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
        /// Whether the other side is so precise that it may have been copied to a coarser type
        /// before it was stored.
        is_precise: bool,
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
        let is_same_kind = a.scheme() == b.scheme() && a.variant() == b.variant();
        // Nothing is lost in computed numbers, which are stored nowhere.
        if is_same_kind || a.is_computed() || b.is_computed() {
            return Self::Exact;
        }
        match (a.is_plain(), b.is_plain()) {
            (true, true) if is_either_16_bits(a, b) => Self::Overlap { refitted: None },
            (true, true) => match [a, b].map(is_cast_to_8_bits) {
                [false, true] => Self::of_cast(a, 1),
                [true, false] => Self::of_cast(b, 0),
                _ => Self::Exact,
            },
            (true, false) => Self::of_stored(a, b, 1),
            (false, true) => Self::of_stored(b, a, 0),
            (false, false) => Self::of_two(a.origin_rule(), b.origin_rule()),
        }
    }

    /// One side is plain, the other is stored with loss.
    fn of_stored(plain: &Weight, stored: &Weight, bounded: usize) -> Self {
        match stored.origin_rule() {
            None => Self::Unknown,
            Some(Rule::ByRows(rule)) => Self::Rows { stored: bounded, rule },
            Some(rule) => Self::of_original(plain, bounded, rule),
        }
    }

    /// One side may have been cast to a float of eight bits, without a scale.
    fn of_cast(original: &Weight, bounded: usize) -> Self {
        if original.native().is_some_and(DType::is_float) {
            Self::of_original(original, bounded, Rule::Bounded)
        } else {
            Self::Exact
        }
    }

    fn of_original(original: &Weight, bounded: usize, rule: Rule) -> Self {
        let is_precise = matches!(original.native(), Some(DType::F32 | DType::F64));
        Self::Original { bounded, rule, rounded: rounding_of(original), is_precise }
    }

    /// The side whose bounds the other lies in, where only one has them.
    pub(super) fn bounded(&self) -> Option<usize> {
        match self {
            Self::Original { bounded, .. } => Some(*bounded),
            _ => None,
        }
    }

    /// Whether a coarser copy of one side may be what the other was made from.
    pub(super) fn may_be_copied(&self) -> bool {
        matches!(self, Self::Original { is_precise: true, .. })
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

    /// Whether numbers that one side is, rounded to the other's type, need not be looked at. (Rows
    /// that are judged as a whole need all of their numbers.)
    pub(super) fn takes_roundings(&self) -> bool {
        match self {
            Self::Exact | Self::Overlap { .. } => true,
            Self::Original { rule, .. } => !matches!(rule, Rule::BoundedOrByRows(_)),
            Self::Rows { .. } | Self::Unknown => false,
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
            Self::Original { .. } if outside.copied_as().is_some() => true,
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
fn are_many(outside: &Outside, rows: u64, share: f64) -> bool {
    let count = outside.rows.len();
    count >= LEAST_ROWS && count as f64 >= share * rows as f64
}

/// Whether what lies outside shows that codes were chosen together.
#[allow(clippy::cast_precision_loss)] // A share of elements.
fn are_chosen_together(outside: &Outside, rows: u64, elements: u64) -> bool {
    are_many(outside, rows, TOGETHER_ROWS)
        && outside.elements as f64 >= TOGETHER_ELEMENTS * elements as f64
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
    let many = are_many(outside, rows, REFITTED_ROWS);
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

/// The share by which the numbers of a plain weight may have been rounded when they were stored.
fn rounding_of(plain: &Weight) -> f32 {
    match plain.native() {
        Some(DType::BF16) => 1.0 / 256.0,
        Some(DType::F16) => 1.0 / 2048.0,
        _ => 0.0,
    }
}

/// Whether a plain weight is stored as floats of eight bits.
fn is_cast_to_8_bits(weight: &Weight) -> bool {
    matches!(weight.native(), Some(DType::F8_E4M3 | DType::F8_E5M2))
}

/// Whether neither of two floating-point types holds the other.
fn is_either_16_bits(a: &Weight, b: &Weight) -> bool {
    let types = [a.native(), b.native()];
    types == [Some(DType::BF16), Some(DType::F16)] || types == [Some(DType::F16), Some(DType::BF16)]
}

/// Adds the rows that are not like their originals, of `rows` with `elements` in all. Whether they
/// were judged by nothing but their direction and size, which leaves room for other factors.
pub(super) fn settle_rows(judge: &Judge, found: &mut Outside, rows: u64, elements: u64) -> bool {
    found.settle();
    let (stored, rule) = match judge {
        Judge::Rows { stored, rule } => (stored, rule),
        // Codes were chosen together: single numbers say nothing.
        Judge::Original { bounded, rule: Rule::BoundedOrByRows(rule), .. }
            if found.copied_as().is_none() && are_chosen_together(found, rows, elements) =>
        {
            let row_sums = std::mem::take(&mut found.row_sums);
            *found = Outside { row_sums, ..Outside::default() };
            (bounded, rule)
        }
        _ => return false,
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
    rule.wrong_signs.is_none()
}
