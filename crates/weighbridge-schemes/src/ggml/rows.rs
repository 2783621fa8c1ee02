//! Blocks that run over the flat elements of a tensor, and any stretch of them.
//!
//! Rows of a matrix are whole blocks, but a vector's "rows" are its elements: a stretch may begin
//! and end inside a block. Those two blocks are decoded on the stack.

use std::ops::Range;

use super::kernel::{Kernel, MOST_ELEMENTS};
use super::origins::of_type;
use crate::blocks::Block;
use crate::error::Result;
use crate::framework::recipe::in_type_of;
use crate::framework::{Origins, Recipe};
use crate::number::{Element, Out};
use crate::simd::{self, Level};
use crate::source::{Slab, Staged};

/// A tensor whose elements lie in blocks, one after the other.
pub(crate) struct BlockRows {
    /// What a block holds.
    pub(crate) block: &'static Block,
    /// How it is decoded.
    pub(crate) kernel: &'static Kernel,
    /// Elements in each row of the outermost dimension.
    pub(crate) columns: u64,
    /// Who made the blocks.
    pub(crate) maker: Maker,
}

/// Who made the blocks of a file, as far as that matters for what they were made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Maker {
    /// ggml. The file may say that an importance matrix was used.
    Ggml { by_importance: bool },
    /// Perhaps aprender, which chooses codes before it rounds any scale.
    Apr,
}

impl BlockRows {
    /// The blocks that hold some elements.
    fn blocks(&self, elements: Range<u64>) -> Range<u64> {
        let each = u64::from(self.block.elements);
        elements.start / each..elements.end.div_ceil(each)
    }

    /// The bytes that some elements need.
    pub(crate) fn slab(&self, elements: Range<u64>) -> Slab {
        let blocks = self.blocks(elements);
        let each = u64::from(self.block.bytes);
        let [start, end] = [blocks.start, blocks.end].map(|block| block.saturating_mul(each));
        Slab::whole(0, start, end - start)
    }

    /// Decodes elements from `first` on, as many as `out` takes; `bytes` start with the block
    /// that holds the first.
    pub(crate) fn decode_elements(&self, level: Level, bytes: &[u8], first: u64, out: Out<'_>) {
        in_type_of!(out, self.decode_as(level, bytes, first, out));
    }

    fn decode_as<T: Element>(&self, level: Level, bytes: &[u8], first: u64, out: &mut [T]) {
        let each = self.block.elements as usize;
        let size = self.block.bytes as usize;
        // The remainder is less than a block.
        let skip = usize::try_from(first % u64::from(self.block.elements)).unwrap_or_default();
        let head = if skip == 0 { 0 } else { (each - skip).min(out.len()) };
        let (head_out, out) = out.split_at_mut(head);
        let (head_bytes, bytes) = bytes.split_at(if head == 0 { 0 } else { size });
        self.decode_piece(level, head_bytes, skip, head_out);
        let whole = out.len() / each;
        let (whole_out, tail_out) = out.split_at_mut(whole * each);
        let (whole_bytes, tail_bytes) = bytes.split_at(whole * size);
        self.kernel.decode(level, whole_bytes, T::out(whole_out));
        self.decode_piece(level, tail_bytes, 0, tail_out);
    }

    /// Some elements of one block.
    fn decode_piece<T: Element>(&self, level: Level, block: &[u8], skip: usize, out: &mut [T]) {
        if out.is_empty() {
            return;
        }
        let mut values = [T::default(); MOST_ELEMENTS];
        let values = &mut values[..self.block.elements as usize];
        self.kernel.decode(level, &block[..self.block.bytes as usize], T::out(values));
        out.copy_from_slice(&values[skip..skip + out.len()]);
    }
}

impl Recipe for BlockRows {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.push(self.slab(elements));
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        let bytes = staged.first().map(Staged::bytes).unwrap_or_default();
        self.decode_elements(simd::level(), bytes, elements.start, out);
        Ok(())
    }

    fn origins(&self) -> Option<&dyn Origins> {
        of_type(self.block.name).map(|_| self as &dyn Origins)
    }
}
