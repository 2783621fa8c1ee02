//! Takes numbers one stretch after the other, and keeps what is to be known of them.
//!
//! Numbers come row by row. A row is whole before the next one begins, however many stretches it
//! comes in, so what is known of rows needs no room for all of them.

use super::histogram::{BINS, Histogram, bin_of_wide};
use super::piece::{self, PIECE};
use super::sample::{Counts, Sample};
use super::tally::Tally;
use crate::simd::{self, Level};

/// The rows of a weight, as far as they are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    /// Numbers of a row; `None` where there is only one.
    pub(super) len: Option<u64>,
    /// Whether it is told which columns hold nothing but zeros.
    pub(super) columns: bool,
}

/// What is known so far.
pub(super) struct Gauge {
    rows: Rows,
    level: Level,
    /// Where the next number stands in the weight.
    at: u64,
    row: Row,
    pub(super) tally: Tally,
    pub(super) sample: Sample,
    pub(super) counts: Box<Counts>,
    /// The extremes of each piece, counted or not, where not all numbers are.
    pub(super) piece_ends: Histogram,
    /// The largest number of each whole row that has any but zero, whatever its sign.
    pub(super) row_sizes: Vec<f64>,
    /// For each column, whether any number is not zero: bits of those that are not.
    pub(super) columns: Vec<u32>,
}

/// What is known of the row that numbers are being taken of.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    size: f64,
    largest: u64,
    is_finite: bool,
}

impl Row {
    const NEW: Self = Self { size: 0.0, largest: 0, is_finite: true };

    fn take(&mut self, size: f64, largest: u64) {
        match size.total_cmp(&self.size) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => self.largest += largest,
            std::cmp::Ordering::Greater => (self.size, self.largest) = (size, largest),
        }
    }
}

impl Default for Gauge {
    fn default() -> Self {
        let zeros: Box<[[u32; BINS]]> = vec![[0; BINS]; 4].into();
        let Ok(counts) = zeros.try_into() else { unreachable!("there are four") };
        Self {
            rows: Rows::default(),
            level: Level::BASELINE,
            at: 0,
            row: Row::NEW,
            tally: Tally::default(),
            sample: Sample::Whole,
            counts,
            piece_ends: Histogram::default(),
            row_sizes: Vec::new(),
            columns: Vec::new(),
        }
    }
}

impl Gauge {
    /// Begins anew, at the beginning of a row.
    pub(super) fn begin(&mut self, rows: Rows, at: u64, sample: Sample) {
        (self.rows, self.at, self.row, self.tally) = (rows, at, Row::NEW, Tally::default());
        (self.level, self.sample) = (simd::level(), sample);
        self.counts.iter_mut().for_each(|counts| counts.fill(0));
        self.piece_ends.clear();
        self.row_sizes.clear();
        self.columns.clear();
        if let (Some(len), true) = (rows.len, rows.columns) {
            self.columns.resize(usize::try_from(len).unwrap_or(0), 0);
        }
    }

    /// Takes numbers.
    pub(super) fn take(&mut self, mut numbers: &[f32]) {
        while !numbers.is_empty() {
            let (piece, rest) = numbers.split_at(self.next_len(numbers.len()));
            self.piece(piece);
            self.advance(piece.len());
            numbers = rest;
        }
    }

    /// Takes numbers that f32 has no room for. All of them are counted.
    pub(super) fn take_wide(&mut self, mut numbers: &[f64]) {
        while !numbers.is_empty() {
            let (piece, rest) = numbers.split_at(self.next_len(numbers.len()));
            self.one_by_one(piece.iter().copied());
            self.count_wide(piece);
            if !self.columns.is_empty() {
                let is_set = |x: &f64| u32::from(*x != 0.0);
                self.mark(piece.iter().map(is_set));
            }
            self.advance(piece.len());
            numbers = rest;
        }
    }

    /// How many of the numbers at hand belong to the same piece.
    fn next_len(&self, most: usize) -> usize {
        let left = self.rows.len.map_or(u64::MAX, |len| len - self.at % len.max(1));
        usize::try_from(left).map_or(most, |left| left.min(most)).min(PIECE)
    }

    fn piece(&mut self, numbers: &[f32]) {
        match piece::measure(self.level, numbers) {
            Some(piece) => {
                self.row.take(piece.min.abs().max(piece.max.abs()).into(), piece.largest.into());
                let first = |wanted: f32| {
                    let place = numbers.iter().position(|x| *x == wanted);
                    place.map_or(self.at, |place| self.at + place as u64)
                };
                self.tally.add_piece(&piece, numbers.len(), first);
                self.count_ends(piece.min, piece.max);
            }
            None => {
                self.one_by_one(numbers.iter().map(|&x| x.into()));
                let finite = || numbers.iter().copied().filter(|x| x.is_finite());
                let ends = finite().reduce(f32::min).zip(finite().reduce(f32::max));
                ends.into_iter().for_each(|(min, max)| self.count_ends(min, max));
            }
        }
        self.sample.count(self.level, self.at, numbers, &mut self.counts);
        if !self.columns.is_empty() {
            self.mark(numbers.iter().map(|x| x.to_bits() << 1));
        }
    }

    /// The definition for numbers of any kind.
    fn one_by_one(&mut self, numbers: impl Iterator<Item = f64>) {
        for (at, x) in (self.at..).zip(numbers) {
            if self.tally.add_one(x, at) {
                self.row.take(x.abs(), 1);
            } else {
                self.row.is_finite = false;
            }
        }
    }

    /// Counts the extremes of a piece, where not all numbers are counted.
    fn count_ends(&mut self, min: f32, max: f32) {
        if self.sample == Sample::Whole {
            return;
        }
        self.piece_ends.count(min.into());
        // They may be one number.
        if max > min {
            self.piece_ends.count(max.into());
        }
    }

    /// Counts all finite numbers.
    fn count_wide(&mut self, numbers: &[f64]) {
        let finite = numbers.iter().filter(|x| x.is_finite());
        finite.for_each(|&x| self.counts[0][bin_of_wide(x)] += 1);
    }

    /// Marks the columns of a piece in which something is not zero.
    fn mark(&mut self, bits: impl Iterator<Item = u32>) {
        let column = usize::try_from(self.at % self.rows.len.unwrap_or(1).max(1)).unwrap_or(0);
        self.columns[column..].iter_mut().zip(bits).for_each(|(column, bits)| *column |= bits);
    }

    /// Goes on behind a piece; a row may be whole now.
    fn advance(&mut self, numbers: usize) {
        self.at += numbers as u64;
        let Some(len) = self.rows.len.filter(|len| self.at.is_multiple_of(*len)) else { return };
        let row = std::mem::replace(&mut self.row, Row::NEW);
        if !row.is_finite {
            return;
        }
        if row.size > 0.0 {
            self.row_sizes.push(row.size);
            self.tally.repeated += row.largest - 1;
        } else {
            self.tally.add_dead_row(self.at / len - 1);
        }
    }
}
