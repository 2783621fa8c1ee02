//! Blocks that run over the flat elements of a tensor, and any stretch of them.
//!
//! Rows of a matrix are whole blocks, but a vector's "rows" are its elements: a stretch may begin
//! and end inside a block. Those two blocks are decoded on the stack.

use std::ops::Range;

use super::kernel::{Kernel, MOST_ELEMENTS};
use crate::blocks::Block;
use crate::framework::recipe::in_type_of;
use crate::number::{Element, Out};
use crate::simd::Level;
use crate::source::Slab;

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
        in_type_of!(
            out,
            self.decode_by(bytes, first, out, |blocks, out| {
                self.kernel.decode(level, blocks, Element::out(out));
            })
        );
    }

    /// Decodes elements with a `decode` that handles whole blocks only.
    pub(super) fn decode_by<T: Element>(
        &self,
        bytes: &[u8],
        first: u64,
        out: &mut [T],
        decode: impl Fn(&[u8], &mut [T]),
    ) {
        let (each, size) = (self.block.elements as usize, self.block.bytes as usize);
        // Some elements of one block.
        let decode_piece = |block: &[u8], skip: usize, out: &mut [T]| {
            if !out.is_empty() {
                let values = &mut [T::default(); MOST_ELEMENTS][..each];
                decode(&block[..size], values);
                out.copy_from_slice(&values[skip..skip + out.len()]);
            }
        };
        // The remainder is less than a block.
        let skip = usize::try_from(first % u64::from(self.block.elements)).unwrap_or_default();
        let head = if skip == 0 { 0 } else { (each - skip).min(out.len()) };
        let (head_out, out) = out.split_at_mut(head);
        let (head_bytes, bytes) = bytes.split_at(if head == 0 { 0 } else { size });
        decode_piece(head_bytes, skip, head_out);
        let whole = out.len() / each;
        let (whole_out, tail_out) = out.split_at_mut(whole * each);
        let (whole_bytes, tail_bytes) = bytes.split_at(whole * size);
        decode(whole_bytes, whole_out);
        decode_piece(tail_bytes, 0, tail_out);
    }
}
