//! One side of a pair: a weight in the shape and order that both sides share, read a tile at a time.

use std::ops::Range;

use super::figure::{Chunk, Figure, Kept, READAHEAD};
use crate::error::{Error, Result};
use crate::model::Weight;
use crate::names::View;
use crate::pipeline::{CHUNK, check_whole_rows};

/// A stored weight, and what it is seen as.
pub(super) struct Side<'m> {
    pub(super) stored: &'m Weight,
    pub(super) weight: Weight,
    pub(super) view: View,
    /// Whether a tile is decoded as a whole, because any part of it costs as much; see
    /// [`Weight::unit`].
    pub(super) unit: Option<u64>,
}

/// A worker's buffers for one side.
#[derive(Default)]
pub(super) struct SideBuffers<T> {
    numbers: Vec<T>,
    /// Which elements they are.
    decoded: Range<u64>,
}

impl<T> SideBuffers<T> {
    /// Forgets the numbers: they may belong to another weight.
    pub(super) fn clear(&mut self) {
        self.decoded = 0..0;
    }
}

impl<'m> Side<'m> {
    pub(super) fn new(stored: &'m Weight, weight: Weight, view: View) -> Self {
        Self { stored, unit: weight.unit(), weight, view }
    }

    /// A weight that is looked at in another way than the pair says.
    pub(super) fn of(stored: &'m Weight, view: View) -> Result<Self> {
        Ok(Self::new(stored, stored.seen_as(&view)?, view))
    }

    pub(super) fn elements(&self) -> u64 {
        crate::catalog::element_count(&self.view.shape).unwrap_or(0)
    }

    /// The numbers of a chunk.
    pub(super) fn read<'s, T: Figure>(
        &self,
        at: &Chunk,
        SideBuffers { numbers, decoded }: &'s mut SideBuffers<T>,
        kept: &mut Kept,
    ) -> Result<&'s [T]> {
        let whole = self.unit.map(|_| Chunk::whole(at.tile.clone()));
        let wanted = whole.as_ref().unwrap_or(at);
        if *decoded != wanted.elements {
            *decoded = 0..0;
            numbers.resize(to_len(&wanted.elements)?, T::default());
            T::decode(&self.weight, wanted, numbers, kept)?;
            *decoded = wanted.elements.clone();
        }
        let before = to_len(&(wanted.elements.start..at.elements.start))?;
        Ok(&numbers[before..before + to_len(&at.elements)?])
    }

    /// Bytes that a worker needs for a tile of this side: numbers and the stored bytes.
    pub(super) fn needed_bytes(&self, tile: &Range<u64>, width: u64) -> Result<u64> {
        let len = tile.end - tile.start;
        let (held, staged) = match self.unit {
            // What is put together is held before it is in order.
            Some(unit) if self.weight.has_element_access() => {
                let whole = len.saturating_add(unit.min(len).saturating_mul(2));
                (whole, self.weight.staged_for_elements(tile.clone())?)
            }
            Some(_) => (len, self.weight.staged_for_rows(self.rows_of(tile))?),
            None => {
                let chunk = len.min(CHUNK);
                let read = 0..chunk.max(READAHEAD).min(self.elements());
                (chunk, self.weight.staged_for_elements(read)?)
            }
        };
        Ok(held.saturating_mul(width).saturating_add(staged))
    }

    /// An error if whole rows for a tile take a larger buffer than the limits allow.
    pub(super) fn check_memory(&self, tile: &Range<u64>) -> Result<()> {
        match self.unit {
            Some(unit) if !self.stored.has_element_access() => {
                let decoded = (tile.end - tile.start).max(unit);
                check_whole_rows(&self.weight, self.rows_of(tile), decoded)
            }
            // So many of them are taken as fit.
            _ => Ok(()),
        }
    }

    /// The rows that some elements are in.
    fn rows_of(&self, elements: &Range<u64>) -> Range<u64> {
        let columns = self.weight.rows_and_columns().1.max(1);
        elements.start / columns..elements.end.div_ceil(columns)
    }
}

fn to_len(elements: &Range<u64>) -> Result<usize> {
    usize::try_from(elements.end - elements.start)
        .map_err(|_| Error::limit("a tile exceeds this machine's address space"))
}
