//! One weight whose numbers are taken, tile by tile.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::figures::{Figures, Whole};
use super::gauge::{Gauge, Rows};
use super::sample::Sample;
use super::tally::Tally;
use crate::compare::Wide;
use crate::dtype::DType;
use crate::error::Result;
use crate::model::{Scratch, Weight};
use crate::pipeline::{Action, Cut, OrderedSum, Tiled, check_memory, share_of, steps_of};
use crate::stop::{into_inner, lock};

/// Elements of a tile, and elements of it that are decoded at a time: 256 KiB of f32. Adding up what
/// tiles give takes as long as a few thousand elements, so a tile has many more.
const TILE: u64 = 1 << 20;
const PART: u64 = 64 << 10;

/// A row has at least this many elements, if the dimensions below the first have as many.
const LEAST_ROW: u64 = 32;

/// Columns beyond these are not told apart: it would take memory for each.
const MOST_COLUMNS: u64 = 4 << 20;

/// How the numbers of a weight make rows: of the last dimensions, as few as have [`LEAST_ROW`]
/// elements together, and never the first. A matrix has its rows, a stack of matrices those of all of
/// them, a convolution its filters.
pub(super) fn rows_of(shape: &[u64]) -> Rows {
    let Some((_, inner)) = shape.split_first() else { return Rows::default() };
    let mut len = 1u64;
    for &dim in inner.iter().rev() {
        if len >= LEAST_ROW {
            break;
        }
        len = len.saturating_mul(dim);
    }
    let all = shape.iter().fold(1, |all: u64, &dim| all.saturating_mul(dim));
    let len = Some(len).filter(|len| *len > 1 && *len < all && *len < 1 << 30);
    Rows { len, columns: len.is_some_and(|len| len <= MOST_COLUMNS) }
}

/// A weight whose numbers are taken.
pub(super) struct Job {
    pub(super) weight: Weight,
    cut: Cut,
    rows: Rows,
    /// Whether all columns are known to hold something.
    columns_are_full: AtomicBool,
    found: Mutex<Found>,
}

/// What was found so far; at the end only the figures are left.
#[derive(Default)]
struct Found {
    sums: OrderedSum<Tally>,
    whole: Option<Box<Whole>>,
    tiles: u64,
    figures: Option<Figures>,
}

/// A worker's buffers.
#[derive(Default)]
pub(super) struct Buffers {
    scratch: Scratch,
    numbers: Vec<f32>,
    wide: Vec<Wide>,
    doubles: Vec<f64>,
    gauge: Gauge,
}

impl Job {
    pub(super) fn new(weight: Weight) -> Result<Self> {
        let rows = rows_of(weight.shape());
        let action = if weight.is_plain() { Action::Cast } else { Action::Decode };
        let mut cut = Cut::of(&weight, &action, DType::F32);
        check_memory(&weight, &cut)?;
        let is_by_elements = weight.has_element_access();
        // Rows that lie across the stored ones are read as they were cut.
        if cut.part == cut.step && !weight.is_transposed() {
            let unit = if is_by_elements { rows.len.unwrap_or(1) } else { 1 };
            let times = |elements: u64| (elements / cut.piece.max(1) / unit).max(1) * unit;
            cut.step = times(TILE).max(cut.step.next_multiple_of(unit));
            cut.part = if is_by_elements && unit > PART { PART } else { times(PART) };
        } else if let (true, Some(row)) = (is_by_elements, rows.len) {
            cut.step = cut.step.next_multiple_of(row);
        }
        let columns_are_full = AtomicBool::new(!rows.columns);
        Ok(Self { weight, cut, rows, columns_are_full, found: Mutex::default() })
    }

    /// Bytes that a worker needs for a tile.
    pub(super) fn needed_bytes(&self) -> Result<u64> {
        let part = self.cut.part.min(self.cut.pieces).saturating_mul(self.cut.piece);
        let columns = self.rows.len.filter(|_| self.rows.columns).unwrap_or(0);
        let wide = if self.wide_type().is_some() { 32 } else { 0 };
        let own = part.saturating_mul(4 + wide).saturating_add(columns.saturating_mul(4));
        Ok(own.saturating_add(self.cut.staged_bytes(&self.weight)?).saturating_add(320 << 10))
    }

    /// The stored type, if f32 has no room for its numbers.
    fn wide_type(&self) -> Option<DType> {
        self.weight.native().filter(|&dtype| self.weight.is_plain() && Wide::is_needed(dtype))
    }

    /// Which numbers the histogram counts. Doubles cost more to read than to count.
    fn sample(&self) -> Sample {
        match self.wide_type() {
            Some(_) => Sample::Whole,
            None => Sample::of(self.weight.elements()),
        }
    }

    /// The figures, once all tiles are done.
    pub(super) fn figures(self) -> Option<Figures> {
        into_inner(self.found).figures
    }

    fn measure(&self, buffers: &mut Buffers, pieces: Range<u64>) -> Result<()> {
        let Buffers { scratch, numbers, wide, doubles, gauge } = buffers;
        let columns = !self.columns_are_full.load(Ordering::Relaxed);
        let rows = Rows { columns, ..self.rows };
        gauge.begin(rows, self.cut.elements(&pieces).start, self.sample());
        if self.cut.part < self.cut.step && self.weight.is_transposed() {
            let take = &mut |_: Range<u64>, numbers: &[f32]| {
                gauge.take(numbers);
                Ok(())
            };
            return self.weight.decode_rows_in_steps(pieces, self.cut.part, numbers, scratch, take);
        }
        for part in steps_of(pieces, self.cut.part) {
            let len = self.cut.count(&part)?;
            if self.wide_type().is_some() {
                wide.resize(len, Wide::default());
                self.weight.decode_wide(&self.cut.elements(&part), numbers, wide, scratch)?;
                doubles.clear();
                doubles.extend(wide.iter().map(|x| x.value()));
                gauge.take_wide(doubles);
                continue;
            }
            numbers.resize(len, 0.0);
            self.cut.decode(&self.weight, part, numbers, scratch)?;
            gauge.take(numbers);
        }
        Ok(())
    }

    /// Adds what a tile gave.
    fn add(&self, gauge: &mut Gauge, index: u64) {
        let mut found = lock(&self.found);
        found.sums.add(index, std::mem::take(&mut gauge.tally), Tally::plus);
        let whole = found.whole.get_or_insert_with(Box::default);
        whole.add(gauge);
        let columns_are_full = self.columns_are_full.load(Ordering::Relaxed);
        if !columns_are_full && !whole.dead_columns.contains(&0) {
            self.columns_are_full.store(true, Ordering::Relaxed);
        }
        found.tiles += 1;
        if found.tiles == self.tiles() {
            let (sums, whole) = (std::mem::take(&mut found.sums), found.whole.take());
            let whole = whole.unwrap_or_default();
            let figures = Figures::of(self.weight.shape(), self.rows, &sums.sum(), &whole);
            found.figures = Some(figures);
        }
    }
}

impl Tiled for Job {
    type Buffers = Buffers;

    fn tiles(&self) -> u64 {
        self.cut.tiles()
    }

    fn weights(&self) -> Vec<&Weight> {
        vec![&self.weight]
    }

    fn tile(&self, buffers: &mut Buffers, index: u64) -> Result<u64> {
        let pieces = self.cut.tile(index);
        let elements = self.cut.elements(&pieces);
        self.measure(buffers, pieces)
            .map_err(|e| e.in_tensor(self.weight.name()).in_file(self.weight.model_path()))?;
        self.add(&mut buffers.gauge, index);
        let part = elements.end - elements.start;
        Ok(share_of(self.weight.stored_bytes(), part, self.weight.elements()))
    }
}

impl Whole {
    /// Adds what does not depend on the order of the tiles.
    pub(super) fn add(&mut self, gauge: &Gauge) {
        self.numbers.add(&gauge.counts);
        self.piece_ends.merge(&gauge.piece_ends);
        gauge.row_sizes.iter().for_each(|&size| self.rows.count(size));
        self.dead_columns.resize(self.dead_columns.len().max(gauge.columns.len()), 0);
        let both = self.dead_columns.iter_mut().zip(&gauge.columns);
        both.for_each(|(all, bits)| *all |= bits);
    }
}
