//! The number types that weights are compared in.
//!
//! Almost all weights are decoded to f32. For doubles and 64-bit integers that is too narrow: they,
//! and what they are compared with, become a sum of two doubles, which holds every 64-bit integer
//! exactly.

use std::ops::Range;

use half::{bf16, f16};

use crate::bounds::Bounds;
use crate::compare::Wide;
use crate::error::Result;
use crate::model::{Readahead, Scratch, Weight};

/// Elements whose stored bytes are read at once, if they are contiguous.
pub(super) const READAHEAD: u64 = 64 << 10;

/// The buffers of decoding, kept from one tile to the next.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) scratch: Scratch,
    pub(super) readahead: Readahead,
    singles: Vec<f32>,
}

impl Kept {
    /// Forgets what was read ahead: it may belong to another weight.
    pub(super) fn clear(&mut self) {
        self.readahead.forget();
    }
}

/// Elements of a tile that are worked on at once.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) tile: Range<u64>,
    pub(super) elements: Range<u64>,
}

impl Chunk {
    /// A tile as a whole.
    pub(super) fn whole(tile: Range<u64>) -> Self {
        Self { elements: tile.clone(), tile }
    }
}

/// A number in which weights are compared.
pub(super) trait Figure: Copy + Default {
    /// Decodes the elements of a chunk into `out`, which has exactly their length; the rest of its
    /// tile is asked for next.
    fn decode(weight: &Weight, at: &Chunk, out: &mut [Self], kept: &mut Kept) -> Result<()>;
}

macro_rules! figure {
    ($($type:ident)*) => {
        $(impl Figure for $type {
            fn decode(weight: &Weight, at: &Chunk, out: &mut [Self], kept: &mut Kept) -> Result<()> {
                let Chunk { tile, elements } = at;
                if !weight.has_element_access() {
                    let columns = weight.rows_and_columns().1.max(1);
                    let rows = elements.start / columns..elements.end / columns;
                    return weight.decode_rows_with(rows, out, &mut kept.scratch);
                }
                let until = tile.end.min(elements.end.max(elements.start + READAHEAD));
                let readahead = &mut kept.readahead;
                weight.decode_elements_buffered(elements.clone(), until, out, readahead)
            }
        })*
    };
}

figure!(f32 bf16 f16);

impl Figure for Wide {
    fn decode(weight: &Weight, at: &Chunk, out: &mut [Self], kept: &mut Kept) -> Result<()> {
        weight.decode_wide(&at.elements, &mut kept.singles, out, &mut kept.scratch)
    }
}

impl Figure for Bounds {
    fn decode(weight: &Weight, at: &Chunk, out: &mut [Self], kept: &mut Kept) -> Result<()> {
        weight.bounds(&at.elements, &mut kept.singles, out, &mut kept.scratch)
    }
}
