//! How a weight is cut into tiles.
//!
//! Copied bytes and plain numbers can be cut anywhere. If a scheme can decode any range of elements,
//! a tile is a range of fixed size, however long the rows are. Otherwise it is some whole rows: then
//! the longest row decides how much memory the conversion takes, which is checked when it is planned.

use std::ops::Range;

use super::Action;
use super::memory::check_whole_rows;
use super::tiling::{ACROSS_ELEMENTS, stretch};
use crate::catalog::{Order, TensorInfo};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::model::{Scratch, Weight};
use crate::schemes::Element;
use crate::shape::least_common_multiple;

/// Elements of a tile: 256 KiB of f32. Whole blocks of every type, so that none is decoded twice.
const TILE_ELEMENTS: u64 = 64 << 10;

/// Stored bytes of a tile whose rows lie across the stored ones, and elements that are decoded of it at a time: 2 MiB in 16
/// bits. Rows of a part come in whole words and lanes.
const ACROSS_BYTES: u64 = 12 << 20;
const PART_ELEMENTS: u64 = 1 << 20;
const PART_ROWS: u64 = 32;

/// Bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// Bytes of a tile whose elements are scattered over the file: larger tiles are read in longer
/// ranges.
const SCATTERED_BYTES: u64 = 8 << 20;

/// What a weight is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// Bytes.
    Bytes,
    /// Elements.
    Elements,
    /// Rows of the outermost dimension.
    Rows,
}

/// The pieces a weight is made of, and how many of them make a tile.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    of: Pieces,
    /// Elements of a piece; one where pieces are bytes.
    pub piece: u64,
    /// How many pieces there are.
    pub pieces: u64,
    /// Elements of all pieces: the last one may have fewer than the others.
    elements: u64,
    /// How many of them a worker takes at once: a tile.
    pub step: u64,
    /// How many of those are decoded and written at a time.
    pub part: u64,
}

impl Cut {
    /// A stored tensor that is copied.
    pub fn of_stored(info: &TensorInfo) -> Self {
        let step = if is_scattered(info) { SCATTERED_BYTES } else { COPY_BYTES };
        Self::even(Pieces::Bytes, info.bytes, step)
    }

    /// A weight that becomes numbers of a type: the smallest pieces that the action allows.
    pub fn of(weight: &Weight, action: &Action, dtype: DType) -> Self {
        let first = weight.parts().next().map(|(_, _, info)| info);
        let scattered = first.is_some_and(is_scattered);
        let bits = |stored: &StoredType| stored.element().map_or(8, DType::bits);
        let stored = first.map_or(8, |info| bits(&info.stored).max(8));
        match action {
            Action::Copy => match first {
                Some(info) => Self::of_stored(info),
                None => Self::even(Pieces::Bytes, 0, COPY_BYTES),
            },
            Action::Cast => {
                let widest = u64::from(stored.max(dtype.bits()) / 8);
                let step = if scattered { SCATTERED_BYTES / widest } else { TILE_ELEMENTS };
                Self::even(Pieces::Elements, weight.elements(), step)
            }
            Action::Decode => Self::of_decoded(weight),
            Action::Encode(encoding) => Self::of_encoded(weight, encoding.unit()),
            Action::Rearrange(rearranging) => rearranging.cut(weight),
        }
    }

    fn of_decoded(weight: &Weight) -> Self {
        let allowed = most_elements(weight);
        let most =
            if weight.is_transposed() { ACROSS_ELEMENTS } else { TILE_ELEMENTS }.min(allowed);
        if let Some(step) = weight.element_batch(most.max(1)) {
            return Self::even(Pieces::Elements, weight.elements(), step);
        }
        let (pieces, piece) = weight.rows_and_columns();
        let step = (most / piece.max(1)).max(1);
        let elements = pieces.saturating_mul(piece);
        let cut = Self { of: Pieces::Rows, piece, pieces, elements, step, part: step };
        if weight.is_transposed() { cut.widened(weight, allowed) } else { cut }
    }

    /// Pieces that an encoder takes whole: groups of `unit` elements, or as many rows as make whole
    /// groups.
    fn of_encoded(weight: &Weight, unit: u64) -> Self {
        let most = if weight.is_transposed() { ACROSS_ELEMENTS } else { TILE_ELEMENTS };
        let most = most.min(most_elements(weight));
        let (of, piece) = if weight.has_element_access() {
            (Pieces::Elements, unit)
        } else {
            let row = weight.rows_and_columns().1;
            (Pieces::Rows, least_common_multiple(unit, row))
        };
        let elements = weight.elements();
        let (pieces, step) = (elements.div_ceil(piece.max(1)), (most / piece.max(1)).max(1));
        Self { of, piece, pieces, elements, step, part: step }
    }

    /// Pieces of `unit` elements, of which about `most` are moved at once.
    pub(super) fn of_codes(weight: &Weight, unit: u64, most: u64) -> Self {
        let elements = weight.elements();
        let (pieces, step) = (elements / unit.max(1), (most / unit.max(1)).max(1));
        Self { of: Pieces::Elements, piece: unit, pieces, elements, step, part: step }
    }

    /// Pieces of one element or byte; a whole tile is decoded at once.
    fn even(of: Pieces, pieces: u64, step: u64) -> Self {
        Self { of, piece: 1, pieces, elements: pieces, step, part: step }
    }

    /// A cut with more rows in a tile, so that they are read in longer pieces, and fewer of
    /// them decoded at a time.
    fn widened(self, weight: &Weight, allowed: u64) -> Self {
        let part = (PART_ELEMENTS / self.piece.max(1)).next_multiple_of(PART_ROWS).min(self.step);
        let stored = (weight.stored_bytes() / self.pieces.max(1)).max(1);
        let step = (ACROSS_BYTES.min(allowed) / stored) / part.max(1) * part.max(1);
        if step > self.step { Self { step, part: part.max(1), ..self } } else { self }
    }

    /// For an output that is written front to back: whole tiles are decoded and written at once.
    pub fn undivided(self) -> Self {
        let step = (ACROSS_ELEMENTS / self.piece.max(1)).clamp(1, self.step.max(1));
        if self.part < self.step { Self { step, part: step, ..self } } else { self }
    }

    /// How many tiles there are.
    pub fn tiles(&self) -> u64 {
        self.pieces.div_ceil(self.step.max(1))
    }

    /// The pieces of the tile of that number.
    pub fn tile(&self, index: u64) -> Range<u64> {
        stretch(index, self.step, self.pieces)
    }

    /// The elements of some pieces; of copied tensors, the bytes.
    pub fn elements(&self, pieces: &Range<u64>) -> Range<u64> {
        let before = |piece: u64| piece.saturating_mul(self.piece).min(self.elements);
        before(pieces.start)..before(pieces.end)
    }

    /// Bytes of the stored parts that the first tile needs.
    pub fn staged_bytes(&self, weight: &Weight) -> Result<u64> {
        let tile = self.elements(&self.tile(0));
        match self.of {
            Pieces::Rows => weight.staged_for_rows(rows_of(weight, &tile)),
            _ => weight.staged_for_elements(tile),
        }
    }

    /// How many elements some pieces have.
    pub fn count(&self, pieces: &Range<u64>) -> Result<usize> {
        let elements = self.elements(pieces);
        usize::try_from(elements.end - elements.start)
            .map_err(|_| Error::limit("a row exceeds this machine's address space"))
    }

    /// Decodes some pieces into `out`, which holds exactly them.
    pub fn decode<T: Element>(
        &self,
        weight: &Weight,
        pieces: Range<u64>,
        out: &mut [T],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let elements = self.elements(&pieces);
        match self.of {
            Pieces::Rows => weight.decode_rows_with(rows_of(weight, &elements), out, scratch),
            _ => weight.decode_elements_with(elements, out, scratch),
        }
    }
}

/// The rows of the outermost dimension that some elements are, where they are whole rows.
fn rows_of(weight: &Weight, elements: &Range<u64>) -> Range<u64> {
    let columns = weight.rows_and_columns().1.max(1);
    elements.start / columns..elements.end / columns
}

/// Elements that one buffer may hold, f32 at their widest, whatever they are written as.
fn most_elements(weight: &Weight) -> u64 {
    let limits = weight.parts().map(|(_, source, _)| source.limits().max_allocation);
    limits.min().unwrap_or(u64::MAX) / 4
}

fn is_scattered(info: &TensorInfo) -> bool {
    info.place.order != Order::RowMajor
}

/// An error if a tile of the weight takes a larger buffer than the limits allow.
pub fn check_memory(weight: &Weight, cut: &Cut) -> Result<()> {
    if cut.of != Pieces::Rows || weight.is_empty() {
        return Ok(());
    }
    let (tile, part) = (cut.tile(0), cut.part.min(cut.pieces));
    let rows = rows_of(weight, &cut.elements(&tile));
    check_whole_rows(weight, rows, part.min(tile.end).saturating_mul(cut.piece))
}
