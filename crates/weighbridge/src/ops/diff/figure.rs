//! The number types that weights are compared in.
//!
//! Almost all weights are decoded to f32. For doubles and 64-bit integers that is too narrow: they,
//! and what they are compared with, become a sum of two doubles, which holds every 64-bit integer
//! exactly.

use std::ops::Range;

use half::{bf16, f16};

use crate::bounds::{Bounds, Candidates};
use crate::compare::Wide;
use crate::error::Result;
use crate::model::{Readahead, Scratch, Weight};

/// Elements whose stored bytes are read at once, if they are contiguous.
pub(super) const READAHEAD: u64 = 64 << 10;

/// The buffers of decoding, kept from one tile to the next.
#[derive(Default)]
pub(super) struct Kept {
    scratch: Scratch,
    readahead: Readahead,
    singles: Vec<f32>,
}

impl Kept {
    /// Forgets what was read ahead: it may belong to another weight.
    pub(super) fn clear(&mut self) {
        self.readahead.forget();
    }

    /// How many candidates lie outside the bounds of some elements; see [`Weight::count_outside`].
    pub(super) fn count_outside(
        &mut self,
        weight: &Weight,
        elements: Range<u64>,
        candidates: Candidates<'_>,
    ) -> Result<Option<u64>> {
        weight.count_outside(elements, candidates, (&mut self.scratch, &mut self.readahead))
    }
}

/// A number in which weights are compared.
pub(super) trait Figure: Copy + Default {
    /// Decodes some elements into `out`, which has exactly their length; those up to `until` are
    /// asked for next.
    fn decode(
        weight: &Weight,
        elements: &Range<u64>,
        until: u64,
        out: &mut [Self],
        kept: &mut Kept,
    ) -> Result<()>;
}

macro_rules! figure {
    ($($type:ident)*) => {
        $(impl Figure for $type {
            fn decode(
                weight: &Weight,
                elements: &Range<u64>,
                until: u64,
                out: &mut [Self],
                Kept { scratch, readahead, .. }: &mut Kept,
            ) -> Result<()> {
                if !weight.has_element_access() {
                    let columns = weight.rows_and_columns().1.max(1);
                    let rows = elements.start / columns..elements.end / columns;
                    return weight.decode_rows_with(rows, out, scratch);
                }
                let until = until.min(elements.end.max(elements.start + READAHEAD));
                weight.decode_elements_buffered(elements.clone(), until, out, readahead)
            }
        })*
    };
}

figure!(f32 bf16 f16);

impl Figure for Wide {
    fn decode(
        weight: &Weight,
        elements: &Range<u64>,
        _: u64,
        out: &mut [Self],
        kept: &mut Kept,
    ) -> Result<()> {
        weight.decode_wide(elements, &mut kept.singles, out, &mut kept.scratch)
    }
}

impl Figure for Bounds {
    fn decode(
        weight: &Weight,
        elements: &Range<u64>,
        _: u64,
        out: &mut [Self],
        kept: &mut Kept,
    ) -> Result<()> {
        weight.bounds(elements, &mut kept.singles, out, &mut kept.scratch)
    }
}
