//! One side of a pair: a weight in the shape that both sides share, read a tile at a time.

use std::ops::Range;

use super::figure::{Figure, Kept, Stretch};
use crate::bounds::Candidates;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::Weight;
use crate::names::{Matrix, Rows, View};
use crate::pipeline::{Area, Block, SideShape, check_whole_rows, least_common_multiple};
use crate::simd::Sides;

/// Elements whose stored bytes are read at once, if they are contiguous.
const READAHEAD: u64 = 64 << 10;

/// A weight and the view that is compared.
pub(super) struct SideView<'m> {
    pub(super) weight: &'m Weight,
    pub(super) view: View,
    /// Elements of a row, if only whole rows can be decoded, or if that is far cheaper: a few
    /// columns of a weight that is stored transposed cost as much as all of them.
    pub(super) row: Option<u64>,
}

/// A worker's buffers for one side.
#[derive(Default)]
pub(super) struct SideBuffers<T> {
    /// Whole rows of the weight, of which a tile is made.
    decoded_rows: Vec<T>,
    /// Which elements of the weight those are.
    decoded: Range<u64>,
    /// Some elements of the view.
    seen: Vec<T>,
    /// Those elements before transposing.
    untransposed: Vec<T>,
    /// A stretch of a row of which some elements are seen.
    spread: Vec<T>,
}

impl<T> SideBuffers<T> {
    /// Forgets the decoded rows: they may belong to another weight.
    pub(super) fn clear(&mut self) {
        self.decoded = 0..0;
    }
}

impl<'m> SideView<'m> {
    pub(super) fn new(weight: &'m Weight, view: View) -> Self {
        let row = match view.transposed {
            _ if !weight.has_element_access() => Some(weight.rows_and_columns().1.max(1)),
            Some(matrix) if weight.is_transposed() => Some(matrix.columns.max(1)),
            _ => None,
        };
        Self { weight, view, row }
    }

    pub(super) fn elements(&self) -> u64 {
        crate::catalog::element_count(&self.view.shape).unwrap_or(0)
    }

    /// How many elements a tile must be a multiple of, so that nothing is decoded twice.
    fn unit(&self) -> u64 {
        let heads = match self.view.rows {
            Rows::Heads { head_rows, .. } => (head_rows / 2).max(1) * 2 * self.view.row_len(),
            Rows::From(_) | Rows::Runs { .. } | Rows::Tiled { .. } => 1,
        };
        match self.row {
            Some(row) => least_common_multiple(row, heads),
            None => 1,
        }
    }

    /// A range of the weight that contains these elements of the view.
    fn span(&self, seen: &Range<u64>) -> Range<u64> {
        let columns = self.view.row_len().max(1);
        match self.view.rows {
            Rows::From(start) => seen.start + start * columns..seen.end + start * columns,
            Rows::Heads { start, head_rows, .. } => {
                let head = (head_rows / 2).max(1) * 2 * columns;
                let first = start * columns;
                first + seen.start / head * head..first + seen.end.div_ceil(head) * head
            }
            Rows::Runs { .. } => {
                let last = seen.end.div_ceil(columns).max(1) - 1;
                let rows = self.view.row(seen.start / columns)..self.view.row(last) + 1;
                rows.start * columns..rows.end * columns
            }
            Rows::Tiled { .. } => {
                let rows = seen.start / columns..seen.end.div_ceil(columns);
                let (mut first, mut end) = (u64::MAX, 0);
                for row in rows.map(|row| self.view.row(row)) {
                    (first, end) = (first.min(row), end.max(row + 1));
                }
                first.min(end) * columns..end * columns
            }
        }
    }

    /// The rows that are decoded whole for some elements of the view, if any are.
    pub(super) fn rows_of_tile(&self, seen: &Range<u64>) -> Option<Range<u64>> {
        let row = self.row?;
        let span = self.span(seen);
        Some(span.start / row..span.end.div_ceil(row).min(self.weight.rows_and_columns().0))
    }

    /// The numbers of an area of the view.
    pub(super) fn read<'s, T: Figure>(
        &self,
        tile: &Area,
        area: &Area,
        buffers: &'s mut SideBuffers<T>,
        kept: &mut Kept,
    ) -> Result<&'s [T]> {
        match (tile, area) {
            (Area::Flat(tile), Area::Flat(elements)) => {
                self.read_flat(tile, elements, buffers, kept)?;
            }
            (_, Area::Block(block)) => match self.view.transposed {
                Some(matrix) => self.read_transposed(matrix, block, buffers, kept)?,
                None => self.read_block(block, buffers, kept)?,
            },
            (Area::Block(_), Area::Flat(_)) => {
                return Err(Error::usage("a part of a block must be a block"));
            }
        }
        if self.view.changes_values() {
            // Converters change half-precision numbers in half precision.
            let in_half = self.weight.native() == Some(DType::F16);
            let changed = if in_half { T::changed_in_half } else { T::changed };
            buffers.seen.iter_mut().for_each(|value| *value = changed(*value, self.view.change));
        }
        Ok(&buffers.seen)
    }

    /// How many candidates lie outside the bounds of an area of the view; `None` where that must be
    /// asked of the bounds.
    pub(super) fn count_outside(
        &self,
        area: &Area,
        candidates: Candidates<'_>,
        kept: &mut Kept,
    ) -> Result<Option<u64>> {
        let Rows::From(start) = self.view.rows else { return Ok(None) };
        let is_seen_as_it_is = !self.view.changes_values() && self.view.transposed.is_none();
        match area {
            Area::Flat(seen) if self.row.is_none() && is_seen_as_it_is => {
                let before = start * self.view.row_len().max(1);
                let elements = seen.start + before..seen.end + before;
                kept.count_outside(self.weight, elements, candidates)
            }
            _ => Ok(None),
        }
    }

    fn read_flat<T: Figure>(
        &self,
        tile: &Range<u64>,
        elements: &Range<u64>,
        buffers: &mut SideBuffers<T>,
        kept: &mut Kept,
    ) -> Result<()> {
        self.decode_rows_of(tile, buffers, kept)?;
        buffers.seen.resize(to_len(elements.end - elements.start)?, T::default());
        let SideBuffers { decoded_rows, decoded, seen, .. } = buffers;
        let (mut at, mut out) = (elements.start, &mut seen[..]);
        while at < elements.end {
            let from = self.run(at, elements.end);
            let (first, rest) = out.split_at_mut(to_len(from.end - from.start)?);
            at += from.end - from.start;
            out = rest;
            match self.row {
                None => T::decode(self.weight, self.stretch(from, tile), first, kept)?,
                Some(_) => {
                    let start = to_len(from.start - decoded.start)?;
                    first.copy_from_slice(&decoded_rows[start..start + first.len()]);
                }
            }
        }
        Ok(())
    }

    /// Some elements of the weight, read with those that follow in the tile if they are contiguous.
    fn stretch(&self, elements: Range<u64>, tile: &Range<u64>) -> Stretch {
        match self.view.rows {
            Rows::From(start) => {
                let end = tile.end + start * self.view.row_len().max(1);
                let until = end.min(elements.start + READAHEAD);
                Stretch::Readahead(elements, until)
            }
            Rows::Heads { .. } | Rows::Runs { .. } | Rows::Tiled { .. } => {
                Stretch::Elements(elements)
            }
        }
    }

    /// The elements of the weight that the view shows from `at` on, as far as they are contiguous.
    pub(super) fn run(&self, at: u64, end: u64) -> Range<u64> {
        let columns = self.view.row_len().max(1);
        if let Rows::From(start) = self.view.rows {
            return at + start * columns..end + start * columns;
        }
        let (mut row, column) = (at / columns, at % columns);
        let first = self.view.row(row) * columns + column;
        let mut len = columns - column;
        while at + len < end && self.view.row(row + 1) == self.view.row(row) + 1 {
            row += 1;
            len += columns;
        }
        first..first + len.min(end - at)
    }

    /// Decodes the whole rows that a tile needs, unless they are decoded already.
    fn decode_rows_of<T: Figure>(
        &self,
        tile: &Range<u64>,
        buffers: &mut SideBuffers<T>,
        kept: &mut Kept,
    ) -> Result<()> {
        match self.rows_of_tile(tile) {
            Some(rows) => self.decode_rows(rows, buffers, kept),
            None => Ok(()),
        }
    }

    /// Decodes whole rows, unless they are decoded already.
    fn decode_rows<T: Figure>(
        &self,
        rows: Range<u64>,
        buffers: &mut SideBuffers<T>,
        kept: &mut Kept,
    ) -> Result<()> {
        let row = self.row.unwrap_or(0);
        let wanted = rows.start * row..rows.end * row;
        if buffers.decoded != wanted {
            buffers.decoded = 0..0;
            buffers.decoded_rows.resize(to_len(wanted.end - wanted.start)?, T::default());
            let stretch = match self.weight.has_element_access() {
                true => Stretch::Elements(wanted.clone()),
                false => Stretch::Rows(rows),
            };
            T::decode(self.weight, stretch, &mut buffers.decoded_rows, kept)?;
            buffers.decoded = wanted;
        }
        Ok(())
    }

    /// The rows that are decoded whole for a block of the view, if any are.
    fn rows_of_block(&self, block: &Block) -> Option<Range<u64>> {
        let row = self.row?;
        let elements = match self.view.transposed {
            Some(Matrix { first, columns }) => {
                (first + block.columns.start) * columns..(first + block.columns.end) * columns
            }
            None => {
                let len = self.view.row_len();
                self.span(&(block.rows.start * len..block.rows.end * len))
            }
        };
        Some(elements.start / row..elements.end.div_ceil(row))
    }

    /// Reads a block of a view whose rows are rows of the weight.
    fn read_block<T: Figure>(
        &self,
        block: &Block,
        buffers: &mut SideBuffers<T>,
        kept: &mut Kept,
    ) -> Result<()> {
        let width = to_len(block.columns.end - block.columns.start)?;
        if let Some(rows) = self.rows_of_block(block) {
            self.decode_rows(rows, buffers, kept)?;
        }
        let SideBuffers { seen, decoded_rows, decoded, .. } = buffers;
        seen.resize(block.len()?, T::default());
        for (row, out) in block.rows.clone().zip(seen.chunks_exact_mut(width.max(1))) {
            let start = self.view.element(row, block.columns.start);
            match self.row {
                Some(_) => {
                    out.copy_from_slice(&decoded_rows[to_len(start - decoded.start)?..][..width]);
                }
                None => {
                    let elements = Stretch::Elements(start..start + width as u64);
                    T::decode(self.weight, elements, out, kept)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a block of a transposed view: its rows are columns of a matrix in the weight.
    fn read_transposed<T: Figure>(
        &self,
        matrix: Matrix,
        block: &Block,
        buffers: &mut SideBuffers<T>,
        kept: &mut Kept,
    ) -> Result<()> {
        let height = to_len(block.rows.end - block.rows.start)?;
        let width = to_len(block.columns.end - block.columns.start)?;
        if let Some(rows) = self.rows_of_block(block) {
            self.decode_rows(rows, buffers, kept)?;
        }
        let SideBuffers { seen, untransposed, spread, decoded_rows, decoded } = buffers;
        seen.resize(block.len()?, T::default());
        untransposed.resize(seen.len(), T::default());
        // The columns of the matrix from the first that is seen to the last.
        let first = self.view.row(block.rows.start);
        let across = to_len(self.view.row(block.rows.end.max(1) - 1) + 1 - first)?;
        spread.resize(if across == height { 0 } else { across }, T::default());
        let outs = untransposed.chunks_exact_mut(height.max(1));
        for (column, out) in block.columns.clone().zip(outs) {
            let start = (matrix.first + column) * matrix.columns + first;
            let to = if across == height { &mut *out } else { &mut spread[..] };
            match self.row {
                Some(_) => {
                    to.copy_from_slice(&decoded_rows[to_len(start - decoded.start)?..][..across]);
                }
                None => {
                    let elements = Stretch::Elements(start..start + across as u64);
                    T::decode(self.weight, elements, to, kept)?;
                }
            }
            if across != height {
                for (row, out) in block.rows.clone().zip(out) {
                    *out = spread[to_len(self.view.row(row) - first)?];
                }
            }
        }
        let sides = Sides { rows: width, columns: height, from: height, to: width };
        T::transpose(sides, untransposed, seen);
        Ok(())
    }

    /// Bytes that a worker needs for a tile of this side: numbers and the stored bytes.
    pub(super) fn needed_bytes(&self, tile: &Area, width: u64) -> Result<u64> {
        let chunk = tile.chunks().next().map_or(0, |chunk| chunk.elements());
        let transposed = if self.view.transposed.is_some() { 3 } else { 1 };
        let seen = chunk.saturating_mul(width * transposed);
        match self.row {
            Some(row) => {
                let rows = match tile {
                    Area::Flat(tile) => self.rows_of_tile(tile),
                    Area::Block(block) => self.rows_of_block(block),
                };
                let rows = rows.unwrap_or(0..0);
                let decoded = (rows.end - rows.start).saturating_mul(row).saturating_mul(width);
                let staged = match self.weight.has_element_access() {
                    true => self.weight.staged_for_elements(rows.start * row..rows.end * row)?,
                    false => self.weight.staged_for_rows(rows)?,
                };
                Ok(seen.saturating_add(decoded).saturating_add(staged))
            }
            None => {
                let read = chunk.max(READAHEAD);
                let elements = 0..read.min(self.weight.elements());
                Ok(seen.saturating_add(self.weight.staged_for_elements(elements)?))
            }
        }
    }

    /// An error if whole rows for a tile take a larger buffer than the limits allow.
    pub(super) fn check_memory(&self, tile: &Area) -> Result<()> {
        let rows = match (tile, self.row) {
            (_, None) => return Ok(()),
            // So many of them are taken as fit.
            _ if self.weight.has_element_access() => return Ok(()),
            (Area::Flat(tile), Some(_)) => self.rows_of_tile(tile).unwrap_or(0..0),
            (Area::Block(block), Some(_)) => self.rows_of_block(block).unwrap_or(0..0),
        };
        let decoded = (rows.end - rows.start).saturating_mul(self.row.unwrap_or(0));
        check_whole_rows(self.weight, rows, decoded)
    }

    /// What decides how it is cut into tiles.
    pub(super) fn shape(&self) -> SideShape {
        SideShape {
            rows: self.view.row_count(),
            columns: self.view.row_len(),
            unit: self.unit(),
            whole_rows: self.row.is_some(),
            across: self.weight.is_transposed(),
            transposed: self.view.transposed.is_some(),
        }
    }
}

fn to_len(elements: u64) -> Result<usize> {
    usize::try_from(elements)
        .map_err(|_| Error::limit("a tile is larger than this machine can address"))
}
