//! What is known of the numbers of a weight when all of them were taken.

use serde::{Serialize, Serializer};

use super::gauge::Rows;
use super::histogram::Histogram;
use super::sample::rank_error;
use super::tally::{NAMED, Tally};
use crate::ops::reports::reports;
use crate::shape::coordinates;

/// The shares whose quantiles are given, in percent.
const QUANTILES: [(&str, f64); 7] =
    [("1", 0.01), ("5", 0.05), ("25", 0.25), ("50", 0.5), ("75", 0.75), ("95", 0.95), ("99", 0.99)];

/// A number this many deviations from the mean is an outlier.
pub(super) const OUTLIER: f64 = 20.0;

/// A row whose largest number is this many times that of the median row has exploded.
pub(super) const EXPLODED: f64 = 1000.0;

/// Fewer rows than these have no median that says much.
const FEW_ROWS: u64 = 8;

/// Bars of a histogram for people.
const BARS: usize = 16;

/// What does not depend on the order of the tiles.
#[derive(Default)]
pub(super) struct Whole {
    /// The numbers, or an even sample of them.
    pub(super) numbers: Histogram,
    /// Both extremes of each piece, where `numbers` is a sample.
    pub(super) piece_ends: Histogram,
    /// The largest number of each row that has any but zero.
    pub(super) rows: Histogram,
    /// Bits of every column; of those that hold nothing but zeros, none are set.
    pub(super) dead_columns: Vec<u32>,
}

impl Whole {
    /// How many numbers are at least beyond either bound. Of a sample, single ones are found among
    /// the extremes of pieces, many of them in the sample itself.
    fn beyond(&self, low: f64, high: f64) -> u64 {
        self.numbers.beyond(low, high).max(self.piece_ends.beyond(low, high))
    }
}

reports! {
    /// The figures of some numbers. Mean, deviation, extremes and quantiles are those of the finite
    /// ones; the field names are the JSON contract.
    #[derive(Clone)]
    pub struct Figures {
        pub elements: u64,
        pub mean: Option<f64>,
        pub deviation: Option<f64>,
        pub min: Option<f64>,
        pub min_index: Option<Vec<u64>>,
        pub max: Option<f64>,
        pub max_index: Option<Vec<u64>>,
        pub zeros: u64,
        pub nan: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub first_nan: Option<Vec<u64>>,
        pub infinite: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub first_infinite: Option<Vec<u64>>,
        /// Finite numbers that the histogram counted: all, or of a large weight one in sixteen.
        pub counted: u64,
        /// How far the share of numbers below a quantile may be from its percent, for not all were
        /// counted.
        pub rank_error: f64,
        /// By percent, each within 1/32 of a number whose share is that percent, give or take
        /// `rank_error`.
        pub quantiles: Quantiles,
        /// Numbers surely more than 20 deviations from the mean; of a weight that is not counted
        /// whole, at least so many.
        pub outliers: u64,
        pub histogram: Option<Bars>,
        /// What is known of rows, where there are several.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rows: Option<RowFigures>,
    }
}

/// The numbers below which a share of all lies.
#[derive(Clone, Debug)]
pub struct Quantiles([Option<f64>; QUANTILES.len()]);

impl Quantiles {
    /// The quantile of 1, 5, 25, 50, 75, 95 or 99 percent.
    #[must_use]
    pub fn percent(&self, percent: u32) -> Option<f64> {
        let name = percent.to_string();
        QUANTILES.iter().zip(self.0).find(|((own, _), _)| *own == name)?.1
    }
}

impl Serialize for Quantiles {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(QUANTILES.iter().zip(self.0).map(|((name, _), value)| (name, value)))
    }
}

reports! {
    /// Even stretches between two numbers, and the share of the numbers in each.
    #[derive(Clone)]
    pub struct Bars {
        pub from: f64,
        pub to: f64,
        pub shares: Vec<f64>,
    }

    /// What is known of the rows of a weight.
    #[derive(Clone)]
    pub struct RowFigures {
        pub count: u64,
        /// Numbers of a row.
        pub elements: u64,
        /// Rows of nothing but zeros, and the first of them.
        pub dead: u64,
        pub first_dead: Vec<u64>,
        /// Columns of nothing but zeros, and the first of them; nothing where there are too many
        /// columns.
        pub dead_columns: Option<u64>,
        pub first_dead_columns: Vec<u64>,
        /// Rows whose largest number is surely more than 1000 times that of the median row.
        pub exploded: u64,
        /// Numbers as large as the largest of their row, but for one of each row.
        pub repeated_extremes: u64,
    }
}

impl Figures {
    #[allow(clippy::cast_precision_loss)] // Counts beyond 2^53 are not exact, nor need they be.
    pub(super) fn of(shape: &[u64], rows: Rows, tally: &Tally, whole: &Whole) -> Self {
        let elements = tally.finite + tally.nan + tally.infinite;
        let counted = whole.numbers.total();
        let count = tally.finite as f64;
        let mean = (tally.finite > 0).then(|| tally.sum / count);
        let is_constant = tally.min.zip(tally.max).is_some_and(|(min, max)| min.0 == max.0);
        // The squares of large doubles may have no room.
        let deviation = mean.filter(|_| tally.squares.is_finite()).map(|mean| {
            if is_constant { 0.0 } else { (tally.squares / count - mean * mean).max(0.0).sqrt() }
        });
        let [min, max] = [tally.min, tally.max].map(|one| one.map(|(value, _)| value));
        let index = |at: u64| coordinates(at, shape);
        // Bins end where f32 does: of doubles beyond it, none is told from another.
        let is_in_bins = |value: f64| value.abs() <= f32::MAX.into();
        let bars = min.zip(max).filter(|(min, max)| is_in_bins(*min) && is_in_bins(*max));
        let quantile = |(_, share): (&str, f64)| {
            let found = whole.numbers.quantile(share).zip(bars);
            found.map(|(value, (min, max))| value.clamp(min, max))
        };
        let outliers = mean.zip(deviation).filter(|(_, deviation)| *deviation > 0.0);
        let bounds = outliers.map(|(mean, by)| (mean - OUTLIER * by, mean + OUTLIER * by));
        let bars = bars.filter(|(min, max)| max > min);
        Self {
            elements,
            mean,
            deviation,
            min,
            min_index: tally.min.map(|(_, at)| index(at)),
            max,
            max_index: tally.max.map(|(_, at)| index(at)),
            zeros: tally.zeros,
            nan: tally.nan,
            first_nan: tally.first_nan.map(index),
            infinite: tally.infinite,
            first_infinite: tally.first_infinite.map(index),
            counted,
            rank_error: rank_error(counted, tally.finite),
            quantiles: Quantiles(QUANTILES.map(quantile)),
            outliers: bounds.map_or(0, |(low, high)| whole.beyond(low, high)),
            histogram: bars.map(|(from, to)| Bars {
                from,
                to,
                shares: whole.numbers.shares(from, to, BARS),
            }),
            rows: rows.len.map(|len| RowFigures::of(elements, len, rows.columns, tally, whole)),
        }
    }
}

impl RowFigures {
    fn of(elements: u64, len: u64, has_columns: bool, tally: &Tally, whole: &Whole) -> Self {
        let dead = || whole.dead_columns.iter().zip(0u64..).filter(|(bits, _)| **bits == 0);
        let median = whole.rows.quantile(0.5).filter(|median| *median > 0.0);
        Self {
            count: elements / len,
            elements: len,
            dead: tally.dead_rows,
            first_dead: tally.first_dead_rows.clone(),
            dead_columns: has_columns.then(|| dead().count() as u64),
            first_dead_columns: dead().take(NAMED).map(|(_, column)| column).collect(),
            exploded: median
                .filter(|_| elements / len >= FEW_ROWS)
                .map_or(0, |median| whole.rows.beyond(-1.0, EXPLODED * median)),
            repeated_extremes: tally.repeated,
        }
    }
}
