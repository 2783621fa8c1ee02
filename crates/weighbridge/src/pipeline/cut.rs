//! How a weight that is decoded is cut into tiles.
//!
//! Where a scheme can decode any stretch of elements, a tile is a stretch of one size, however
//! long the rows are. Otherwise it is some whole rows, at least one: then the largest decides how
//! much memory the conversion takes, and that is checked when it is planned.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::model::{Scratch, Weight};
use crate::schemes::Element;

/// Elements of a tile: 256 KiB of f32. Whole blocks of every type, so that none is decoded twice.
pub const TILE_ELEMENTS: u64 = 64 << 10;

/// The pieces a weight is made of, and how many of them make a tile.
pub struct Cut {
    by_elements: bool,
    /// Elements of a piece.
    pub piece: u64,
    /// How many pieces there are.
    pub pieces: u64,
    /// How many of them are a tile.
    pub step: u64,
}

impl Cut {
    /// The smallest pieces that its scheme can decode.
    pub fn of(weight: &Weight<'_>) -> Self {
        let by_elements = weight.has_element_access();
        let (pieces, piece) = match by_elements {
            true => (weight.elements(), 1),
            false => weight.rows_and_columns(),
        };
        let step = (TILE_ELEMENTS / piece.max(1)).max(1);
        Self { by_elements, piece, pieces, step }
    }

    /// Decodes some pieces into `out`, which holds exactly them.
    pub fn decode<T: Element>(
        &self,
        weight: &Weight<'_>,
        pieces: Range<u64>,
        out: &mut [T],
        scratch: &mut Scratch,
    ) -> Result<()> {
        match self.by_elements {
            true => weight.decode_elements_with(pieces, out, scratch),
            false => weight.decode_rows_with(pieces, out, scratch),
        }
    }
}

/// An error if a tile of the weight takes a larger buffer than the limits allow.
pub fn check_memory(weight: &Weight<'_>) -> Result<()> {
    let cut = Cut::of(weight);
    if cut.by_elements || weight.is_empty() {
        return Ok(());
    }
    let rows = cut.step.min(cut.pieces);
    // A tile is f32 at its widest, whatever it is written as.
    let decoded = rows.saturating_mul(cut.piece).saturating_mul(4);
    let needed = decoded.max(weight.largest_slab(0..rows)?);
    for (_, source, _) in weight.parts() {
        let limit = source.limits().max_allocation;
        if needed > limit {
            return Err(Error::limit(format!(
                "its rows are decoded whole, which takes a buffer of {needed} bytes; the limit \
                 for one is {limit}"
            ))
            .in_tensor(weight.name())
            .in_file(source.input().name())
            .hint("raise max_allocation (--max-allocation), or leave it out (--exclude RE)"));
        }
    }
    Ok(())
}
