//! Rows that are each padded to whole blocks.

use std::ops::Range;

use crate::error::Result;
use crate::framework::recipe::in_type_of;
use crate::framework::{Origins, Portion, Recipe};
use crate::ggml::{BlockRows, BlockStretch, InBlocks};
use crate::number::{Element, Out};
use crate::simd::{self, Level};
use crate::source::{Slab, Staged};

/// A matrix in which every row begins a new block.
pub(super) struct PaddedRows {
    /// One row.
    pub(super) row: BlockRows,
}

impl PaddedRows {
    /// Returns the bytes per row.
    fn row_bytes(&self) -> u64 {
        let block = self.row.block;
        self.row.columns.div_ceil(block.elements.into()).saturating_mul(block.bytes.into())
    }

    /// Returns the row and column of an element.
    fn place(&self, element: u64) -> (u64, u64) {
        let columns = self.row.columns.max(1);
        (element / columns, element % columns)
    }

    /// Returns the position of the block of an element.
    fn block_start(&self, element: u64) -> u64 {
        let (row, column) = self.place(element);
        row.saturating_mul(self.row_bytes()).saturating_add(self.row.slab(column..column).offset)
    }

    /// Returns the ranges of rows that make up some elements from `first` on: the first column of
    /// each, the position of its first block in the bytes for all, and its length.
    fn stretches(&self, first: u64, count: usize) -> impl Iterator<Item = (u64, usize, usize)> {
        let (base, mut first, mut left) = (self.block_start(first), first, count);
        std::iter::from_fn(move || {
            let column = self.place(first).1;
            let in_row = usize::try_from(self.row.columns - column).unwrap_or(usize::MAX);
            let count = in_row.min(left);
            // It follows the first one and is in memory, so it fits.
            let at = usize::try_from(self.block_start(first) - base).unwrap_or(usize::MAX);
            (first, left) = (first + count as u64, left - count);
            (count > 0).then_some((column, at, count))
        })
    }

    /// Decodes elements from `first` on; `bytes` start with the block that holds it.
    fn decode_as<T: Element>(&self, level: Level, bytes: &[u8], first: u64, mut out: &mut [T]) {
        for (column, at, count) in self.stretches(first, out.len()) {
            let (row, rest) = out.split_at_mut(count);
            self.row.decode_elements(level, &bytes[at..], column, T::out(row));
            out = rest;
        }
    }
}

impl Recipe for PaddedRows {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        let start = self.block_start(elements.start);
        let last = elements.last().map(|last| self.block_start(last));
        let bytes = last.map_or(0, |last| last + u64::from(self.row.block.bytes) - start);
        slabs.push(Slab::whole(0, start, bytes));
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        let first = elements.start;
        let bytes = staged.first().map(Staged::bytes).unwrap_or_default();
        let level = simd::level();
        in_type_of!(out, self.decode_as(level, bytes, first, out));
        Ok(())
    }

    fn origins(&self) -> Option<&dyn Origins> {
        self.row.origins().map(|_| self as &dyn Origins)
    }
}

impl InBlocks for PaddedRows {
    fn blocks(&self) -> &BlockRows {
        &self.row
    }

    fn stretches<'s>(
        &'s self,
        Portion { staged, elements }: &Portion<'s>,
    ) -> Result<impl Iterator<Item = BlockStretch<'s>>> {
        let bytes = staged.first().map(Staged::bytes).unwrap_or_default();
        let count = usize::try_from(elements.end - elements.start).unwrap_or(usize::MAX);
        let stretches = PaddedRows::stretches(self, elements.start, count);
        Ok(stretches.map(|(first, at, count)| BlockStretch {
            bytes: &bytes[at..],
            first,
            count,
            factor: None,
        }))
    }
}
