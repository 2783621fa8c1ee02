//! Rows that are each filled up to whole blocks.

use std::ops::Range;

use crate::error::Result;
use crate::schemes::ggml::BlockRows;
use crate::schemes::{Element, Out, Recipe};
use crate::simd::{self, Level};
use crate::source::{Slab, Staged};

/// A matrix whose every row begins a new block.
pub(super) struct PaddedRows {
    /// One row.
    pub(super) row: BlockRows,
}

impl PaddedRows {
    /// Bytes of a row.
    fn row_bytes(&self) -> u64 {
        let block = self.row.block;
        self.row.columns.div_ceil(block.elements.into()) * u64::from(block.bytes)
    }

    fn decode_as<T: Element>(&self, level: Level, bytes: &[u8], out: &mut [T]) {
        // A row of the output fits in memory, and so does what it is decoded from.
        let [columns, bytes_each] = [self.row.columns, self.row_bytes()]
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX).max(1));
        for (bytes, out) in bytes.chunks_exact(bytes_each).zip(out.chunks_mut(columns)) {
            self.row.decode_elements(level, bytes, 0, T::out(out));
        }
    }
}

impl Recipe for PaddedRows {
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        let each = self.row_bytes();
        slabs.push(Slab::whole(0, rows.start * each, (rows.end - rows.start) * each));
    }

    fn decode(&self, staged: &[Staged<'_>], _: Range<u64>, out: Out<'_>) -> Result<()> {
        let bytes = staged.first().map(Staged::bytes).unwrap_or_default();
        let level = simd::level();
        match out {
            Out::F32(out) => self.decode_as(level, bytes, out),
            Out::Bf16(out) => self.decode_as(level, bytes, out),
            Out::F16(out) => self.decode_as(level, bytes, out),
        }
        Ok(())
    }
}
