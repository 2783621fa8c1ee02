//! Some rows of a weight: which of its numbers they are, and how they are decoded.

use std::ops::Range;
use std::sync::Arc;

use half::f16;

use super::block::{Band, Block, Buffers, PANEL, To};
use super::rows::RowOrder;
use super::{ACROSS_ELEMENTS, length};
use crate::change::Change;
use crate::error::{Error, Result};
use crate::framework::Recipe;
use crate::simd::Number;
use crate::source::{Slab, Staged};

/// Elements of a row that is decoded for any part of it.
const MOST_OF_A_ROW: u64 = 1 << 20;

/// A matrix in a weight whose columns are seen as rows.
#[derive(Clone, Copy, Debug)]
pub struct Across {
    /// The first row of it, if the weight is cut into rows as long as its own.
    pub first: u64,
    /// How long they are.
    pub columns: u64,
}

/// Some rows of a weight.
pub struct Stretch {
    /// How the weight is decoded.
    pub recipe: Arc<dyn Recipe>,
    /// Elements of a row of the weight's outermost dimension.
    pub recipe_row: u64,
    /// Where its parts begin among all parts of the composed weight.
    pub first_part: usize,
    /// Elements of a row of the stretch.
    pub row: u64,
    /// How many rows.
    pub rows: u64,
    /// Which ones.
    pub order: RowOrder,
    /// The matrix whose columns they are, if they are columns.
    pub across: Option<Across>,
    /// What is done to each number.
    pub change: Change,
    /// Whether the changed number is rounded to f16.
    pub in_half: bool,
}

impl Stretch {
    pub(super) fn elements(&self) -> u64 {
        self.rows.saturating_mul(self.row)
    }

    /// Whether any of its elements can be decoded at no great cost.
    pub(super) fn has_element_access(&self) -> bool {
        self.recipe.elements().is_some() || self.recipe_row <= MOST_OF_A_ROW
    }

    /// Whether a few of its rows are read in many small pieces.
    pub(super) fn is_transposed(&self) -> bool {
        self.across.is_some() || self.recipe.is_transposed()
    }

    /// How many elements are best decoded at a time.
    pub(super) fn batch(&self, most: u64) -> u64 {
        let row = self.row.max(1);
        let (most, in_rows) = match (self.recipe.elements(), self.across) {
            (_, Some(_)) => (most.min(ACROSS_ELEMENTS), true),
            (Some(elements), None) => (elements.batch(most), false),
            (None, None) => (most, true),
        };
        if in_rows && most >= row { most / row * row } else { most }
    }

    /// Calls `take` with each block of some of its elements; the first goes to `at` of the output.
    pub(super) fn each_block(
        &self,
        elements: Range<u64>,
        at: usize,
        take: &mut dyn FnMut(&Block) -> Result<()>,
    ) -> Result<()> {
        let row_len = self.row.max(1);
        let mut next = elements.start;
        while next < elements.end {
            let (row, column) = (next / row_len, next % row_len);
            let here = at + length(next - elements.start);
            let rows = (elements.end - next) / row_len;
            if column > 0 || rows == 0 {
                // A part of a row.
                let len = (row_len - column).min(elements.end - next);
                take(&self.part_of_row(row, column..column + len, here))?;
                next += len;
                continue;
            }
            if let Some(across) = self.across {
                take(&self.across(across, row..row + rows, 0..row_len, here))?;
                next += rows * row_len;
                continue;
            }
            let (rows, runs) = self.order.runs(row, rows);
            for runs in runs.iter().flatten() {
                take(&Block {
                    first: runs.first * row_len,
                    piece: runs.run * row_len,
                    step: runs.step * row_len,
                    count: runs.count,
                    at: here + length(runs.at * row_len),
                    to: To::Rows { every: length(runs.every * row_len) },
                })?;
            }
            next += rows.max(1) * row_len;
        }
        Ok(())
    }

    fn part_of_row(&self, row: u64, columns: Range<u64>, at: usize) -> Block {
        if let Some(across) = self.across {
            return self.across(across, row..row + 1, columns, at);
        }
        let (first, piece) =
            (self.order.row(row) * self.row + columns.start, columns.end - columns.start);
        Block { first, piece, step: piece, count: 1, at, to: To::Rows { every: length(piece) } }
    }

    /// Some rows, which are columns of a matrix in the weight.
    fn across(&self, of: Across, rows: Range<u64>, columns: Range<u64>, at: usize) -> Block {
        let seen = || rows.clone().map(|row| self.order.row(row));
        let (first, last) = (seen().min().unwrap_or(0), seen().max().unwrap_or(0));
        let picks = match self.order {
            RowOrder::From(_) => None,
            _ => Some(seen().map(|row| length(row - first)).collect()),
        };
        Block {
            first: (of.first + columns.start) * of.columns + first,
            piece: last + 1 - first,
            step: of.columns,
            count: columns.end - columns.start,
            at,
            to: To::Columns { every: length(columns.end - columns.start), picks },
        }
    }

    /// Whether all of a block's span is decoded at once.
    fn is_together(&self, block: &Block) -> bool {
        block.is_together() || self.recipe.elements().is_none()
    }

    /// What a block needs.
    pub(super) fn needs(&self, block: &Block, slabs: &mut Vec<Slab>) {
        let before = slabs.len();
        match self.is_together(block) {
            true => self.needs_of(&(block.first..block.first + block.span()), slabs),
            false => {
                let mut own = Vec::new();
                for band in self.bands(block, &mut own) {
                    slabs.extend(band.slabs);
                }
            }
        }
        slabs[before..].iter_mut().for_each(|slab| slab.part += self.first_part);
    }

    /// What some elements of the weight need. Where the recipe decodes whole rows only, they are
    /// whole rows.
    fn needs_of(&self, source: &Range<u64>, slabs: &mut Vec<Slab>) {
        match self.recipe.elements() {
            Some(elements) => elements.needs(source.clone(), slabs),
            None => self.recipe.needs(self.rows_of(source), slabs),
        }
    }

    /// The rows of the weight that some of its elements are in.
    fn rows_of(&self, source: &Range<u64>) -> Range<u64> {
        let row = self.recipe_row.max(1);
        source.start / row..source.end.div_ceil(row)
    }

    /// The bands of a block whose pieces are decoded one by one.
    fn bands(&self, block: &Block, slabs: &mut Vec<Slab>) -> Vec<Band> {
        block.bands(&mut |elements, slabs| self.needs_of(&elements, slabs), slabs)
    }

    /// Decodes a block, and tells how many of the staged slabs were its own.
    pub(super) fn decode<T: Number>(
        &self,
        block: &Block,
        staged: &[Staged<'_>],
        out: &mut [T],
        buffers: &mut Buffers<T>,
    ) -> Result<usize> {
        if !self.is_together(block) {
            return self.decode_apart(block, staged, out, buffers);
        }
        let span = block.first..block.first + block.span();
        buffers.slabs.clear();
        self.needs_of(&span, &mut buffers.slabs);
        let own = taken(staged, buffers.slabs.len())?;
        let len = length(block.span());
        if block.is_straight() {
            self.decode_changed(own, &span, &mut out[block.at..block.at + len], buffers)?;
            return Ok(own.len());
        }
        let mut numbers = std::mem::take(&mut buffers.numbers);
        numbers.resize(len, T::default());
        self.decode_changed(own, &span, &mut numbers, buffers)?;
        block.place(&numbers, length(block.step), 0, &mut buffers.picked, out);
        buffers.numbers = numbers;
        Ok(own.len())
    }

    /// Decodes a block piece by piece.
    fn decode_apart<T: Number>(
        &self,
        block: &Block,
        staged: &[Staged<'_>],
        out: &mut [T],
        buffers: &mut Buffers<T>,
    ) -> Result<usize> {
        let (mut used, mut index) = (0, 0);
        let mut numbers = std::mem::take(&mut buffers.numbers);
        let piece = length(block.piece);
        for band in self.bands(block, &mut buffers.slabs) {
            let own = taken(staged.get(used..).unwrap_or_default(), band.slabs.len())?;
            used += own.len();
            let mut done = 0;
            while done < band.pieces {
                let count = PANEL.min(band.pieces - done);
                numbers.resize(length(count) * piece, T::default());
                for (at, numbers) in (0..count).zip(numbers.chunks_mut(piece)) {
                    let start = block.first + (index + at) * block.step;
                    let bytes = band.piece(own, done + at);
                    self.decode_changed(&bytes, &(start..start + block.piece), numbers, buffers)?;
                }
                block.place(&numbers, piece, index, &mut buffers.picked, out);
                done += count;
                index += count;
            }
        }
        buffers.numbers = numbers;
        Ok(used)
    }

    /// Some elements of the weight, with their values changed.
    fn decode_changed<T: Number>(
        &self,
        staged: &[Staged<'_>],
        source: &Range<u64>,
        out: &mut [T],
        buffers: &mut Buffers<T>,
    ) -> Result<()> {
        if self.change == Change::None {
            return self.decode_plainly(staged, source, out, &mut buffers.rows);
        }
        let Buffers { singles, single_rows, .. } = buffers;
        singles.resize(out.len(), 0.0);
        self.decode_plainly(staged, source, singles, single_rows)?;
        let changed = |number: f32| match self.change.of(number) {
            changed if self.in_half => f16::from_f32(changed).to_f32(),
            changed => changed,
        };
        T::out(out).fill_with(|index| changed(singles[index]));
        Ok(())
    }

    fn decode_plainly<T: Number>(
        &self,
        staged: &[Staged<'_>],
        source: &Range<u64>,
        out: &mut [T],
        whole: &mut Vec<T>,
    ) -> Result<()> {
        if let Some(elements) = self.recipe.elements() {
            return elements.decode(staged, source.clone(), T::out(out));
        }
        let (rows, row) = (self.rows_of(source), self.recipe_row.max(1));
        let all = length((rows.end - rows.start).saturating_mul(row));
        if all == out.len() {
            return self.recipe.decode(staged, rows, T::out(out));
        }
        whole.resize(all, T::default());
        let first = length(source.start - rows.start * row);
        self.recipe.decode(staged, rows, T::out(whole))?;
        out.copy_from_slice(&whole[first..first + out.len()]);
        Ok(())
    }
}

/// The first staged slabs.
pub(super) fn taken<'s, 'a>(staged: &'s [Staged<'a>], count: usize) -> Result<&'s [Staged<'a>]> {
    staged.get(..count).ok_or_else(|| Error::usage("some of what it needs is not staged"))
}
