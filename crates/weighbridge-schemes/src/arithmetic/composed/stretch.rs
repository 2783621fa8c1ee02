//! A range of rows of a weight, and how they are decoded.

use std::ops::Range;
use std::sync::Arc;

use super::block::{Band, Block, Buffers, PANEL, To, each_piece, taken};
use super::figure::{Figure, Weighed};
use super::rows::runs;
use super::{ACROSS_ELEMENTS, length};
use crate::error::Result;
use crate::framework::{Portion, Recipe};
use crate::shape::least_common_multiple;
use crate::source::{Slab, Staged};
use crate::view::{Matrix, Rows, View};

/// Maximum length of a row that is decoded whole for any part of it.
const MOST_OF_A_ROW: u64 = 1 << 20;

/// A range of rows of a weight.
pub struct Stretch {
    /// Recipe of the weight.
    pub recipe: Arc<dyn Recipe>,
    /// Elements per row of the weight's outermost dimension.
    pub recipe_row: u64,
    /// Index of its first part among all parts of the composed weight.
    pub first_part: usize,
    /// The rows, and the change to each number.
    pub view: View,
    /// Whether the changed number is rounded to f16.
    pub in_half: bool,
}

impl Stretch {
    pub(super) fn elements(&self) -> u64 {
        self.view.row_count().saturating_mul(self.view.row_len())
    }

    /// Whether any of its elements can be decoded cheaply.
    pub(super) fn has_element_access(&self) -> bool {
        self.recipe.has_element_access() || self.recipe_row <= MOST_OF_A_ROW
    }

    /// Whether a few of its rows are read in many small pieces.
    pub(super) fn is_transposed(&self) -> bool {
        self.view.transposed.is_some() || self.recipe.is_transposed()
    }

    /// Returns the number of elements that are decoded together; `None` if any range is cheap.
    pub(super) fn unit(&self) -> Option<u64> {
        let row = self.view.row_len().max(1);
        let rows = match self.view.rows {
            Rows::Heads { head_rows, .. } => (head_rows / 2).max(1) * 2,
            _ => 1,
        };
        match (self.view.transposed, self.recipe.has_element_access()) {
            (Some(_), true) => Some(row),
            // Any column needs the whole matrix.
            (Some(_), false) => Some(self.elements().max(1)),
            (None, true) => None,
            (None, false) => Some(least_common_multiple(self.recipe_row, row.saturating_mul(rows))),
        }
    }

    /// Returns the best number of elements to decode at a time.
    pub(super) fn batch(&self, most: u64) -> u64 {
        let row = self.view.row_len().max(1);
        let (most, in_rows) = match (self.recipe.has_element_access(), self.view.transposed) {
            (_, Some(_)) => (most.min(ACROSS_ELEMENTS), true),
            (true, None) => (self.recipe.batch(most), false),
            (false, None) => (most, true),
        };
        if in_rows && most >= row { most / row * row } else { most }
    }

    /// Calls `take` with each block of some of its elements; the first goes to `at` in the output.
    pub(super) fn each_block(
        &self,
        elements: Range<u64>,
        at: usize,
        take: &mut dyn FnMut(&Block) -> Result<()>,
    ) -> Result<()> {
        let row_len = self.view.row_len().max(1);
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
            if let Some(matrix) = self.view.transposed {
                take(&self.across(matrix, row..row + rows, 0..row_len, here))?;
                next += rows * row_len;
                continue;
            }
            let (rows, runs) = runs(self.view.rows, row, rows);
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
        if let Some(matrix) = self.view.transposed {
            return self.across(matrix, row..row + 1, columns, at);
        }
        let (first, piece) = (self.view.element(row, columns.start), columns.end - columns.start);
        Block { first, piece, step: piece, count: 1, at, to: To::Rows { every: length(piece) } }
    }

    /// Returns the block of some rows that are columns of a matrix in the weight.
    fn across(&self, of: Matrix, rows: Range<u64>, columns: Range<u64>, at: usize) -> Block {
        let seen = || rows.clone().map(|row| self.view.row(row));
        let (first, last) = (seen().min().unwrap_or(0), seen().max().unwrap_or(0));
        let picks = match self.view.rows {
            Rows::From(_) => None,
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

    /// Whether the whole span of a block is decoded at once.
    fn is_together(&self, block: &Block) -> bool {
        block.is_together() || !self.recipe.has_element_access()
    }

    /// Appends the byte ranges that some elements of the weight need.
    fn needs_of(&self, elements: &Range<u64>, slabs: &mut Vec<Slab>) {
        self.recipe.needs(self.recipe.around(elements, self.recipe_row), slabs);
    }

    /// Appends the byte ranges that a block needs.
    pub(super) fn needs(&self, block: &Block, slabs: &mut Vec<Slab>) {
        let before = slabs.len();
        if self.is_together(block) {
            let span = block.first..block.first + block.span();
            self.needs_of(&span, slabs);
        } else {
            let mut own = Vec::new();
            for band in self.bands(block, &mut own) {
                slabs.extend(band.slabs);
            }
        }
        slabs[before..].iter_mut().for_each(|slab| slab.part += self.first_part);
    }

    /// Returns the bands of a block whose pieces are decoded one by one.
    pub(super) fn bands(&self, block: &Block, slabs: &mut Vec<Slab>) -> Vec<Band> {
        block.bands(&mut |elements, slabs| self.needs_of(&elements, slabs), slabs)
    }

    /// Decodes a block, and returns how many staged slabs it used.
    pub(super) fn decode<T: Figure>(
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
    fn decode_apart<T: Figure>(
        &self,
        block: &Block,
        staged: &[Staged<'_>],
        out: &mut [T],
        buffers: &mut Buffers<T>,
    ) -> Result<usize> {
        let (mut numbers, piece) = (std::mem::take(&mut buffers.numbers), length(block.piece));
        numbers.resize(length(PANEL.min(block.count)) * piece, T::default());
        let bands = self.bands(block, &mut buffers.slabs);
        let used = each_piece(&bands, staged, |bytes, index| {
            let (before, start) = (index % PANEL, block.first + index * block.step);
            let at = length(before) * piece;
            let here = &mut numbers[at..at + piece];
            self.decode_changed(bytes, &(start..start + block.piece), here, buffers)?;
            if before + 1 == PANEL || index + 1 == block.count {
                let panel = &numbers[..at + piece];
                block.place(panel, piece, index - before, &mut buffers.picked, out);
            }
            Ok(())
        })?;
        buffers.numbers = numbers;
        Ok(used)
    }

    /// Decodes some elements of the weight, with their values changed.
    fn decode_changed<T: Figure>(
        &self,
        staged: &[Staged<'_>],
        source: &Range<u64>,
        out: &mut [T],
        Buffers { rows: whole, singles, .. }: &mut Buffers<T>,
    ) -> Result<()> {
        let elements = self.recipe.around(source, self.recipe_row);
        let (change, in_half) = (self.view.change, self.in_half);
        let portion = Portion { staged, elements: elements.clone() };
        let of = Weighed { recipe: &*self.recipe, portion, change, in_half };
        if elements == *source {
            return T::decode(&of, out, singles);
        }
        whole.resize(length(elements.end - elements.start), T::default());
        T::decode(&of, whole, singles)?;
        let first = length(source.start - elements.start);
        out.copy_from_slice(&whole[first..first + out.len()]);
        Ok(())
    }
}
