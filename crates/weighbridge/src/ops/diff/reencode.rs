//! Encodes originals once more, with the encoder of the type that the other side is stored in: what
//! is stored has the bytes that this gives, or an error that is compared with the encoder's.
//!
//! Rows are encoded on their own. So a pair fits if the stored side is seen by whole rows, in
//! whatever order: the other side is read in that order, and each row meets its stored bytes.

use std::ops::Range;
use std::sync::Arc;

use super::Comparison;
use super::figure::{Chunk, Kept};
use super::report::ReencodedSummary;
use super::side::{Side, SideBuffers};
use super::tensor::{DiffTensor, Reencoded};
use crate::blocks::Block;
use crate::catalog::TensorInfo;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::model::Weight;
use crate::pipeline::{OrderedSum, Tiled, held_at_once, steps_of};
use crate::schemes::{Decoded, Encoder, Groups, SCHEMES, WeightEncoder};
use crate::shape::least_common_multiple;
use crate::source::{Slab, Source};

/// Elements that a worker does before it takes others, if rows are not longer.
const TILE: u64 = 256 << 10;

/// Elements that are encoded at once, if rows are not longer; as many are read at once.
const PIECE: u64 = 64 << 10;

/// Longer rows are not encoded: a worker holds a whole one.
const LONGEST_ROW: u64 = 1 << 22;

impl Comparison<'_> {
    /// Encodes originals once more, where the other side is stored in a type with an encoder.
    pub(super) fn reencode(&mut self) -> Result<()> {
        let again = |(index, tensor): (usize, &DiffTensor)| {
            let of = |original: usize, stored: usize| {
                Again::of(index, self.side(index, original), self.side(index, stored), stored)
            };
            tensor.has_values().then(|| of(0, 1).or_else(|| of(1, 0))).flatten().map(Ok)
        };
        let jobs = self.tensors.iter().enumerate().filter_map(again);
        let total =
            |jobs: &[Again<'_>]| jobs.iter().map(|job| job.bytes_of(&(0..job.elements))).sum();
        let jobs = self.options.work.run(&self.models, jobs, total, |job| {
            let held = job.weights().into_iter().map(held_at_once).sum();
            Ok((job.stored.weight.name(), job.needed_bytes()?, held))
        })?;
        let done: Vec<_> = jobs.into_iter().map(|job| (job.index, job.outcome())).collect();
        for (index, outcome) in done {
            self.tensors[index].reencoded = Some(outcome);
        }
        Ok(())
    }
}

/// How many weights were encoded once more, and what came of it.
pub(super) fn summary(tensors: &[DiffTensor]) -> ReencodedSummary {
    let all = || tensors.iter().filter_map(|tensor| tensor.reencoded.as_ref());
    ReencodedSummary {
        compared: all().count() as u64,
        same_bytes: all().filter(|one| one.identical_blocks == one.blocks).count() as u64,
        worst_ratio: all().filter_map(|one| one.error_ratio).reduce(f64::max),
    }
}

/// A pair whose original is encoded once more.
struct Again<'m> {
    /// Which pair it is.
    index: usize,
    original: Side<'m>,
    stored: Side<'m>,
    /// The stored side's name in reports.
    side: &'static str,
    source: &'m Source,
    info: &'m TensorInfo,
    block: &'static Block,
    /// Which elements make which of its bytes.
    groups: Groups,
    name: &'static str,
    encoder: Box<dyn WeightEncoder>,
    elements: u64,
    /// Elements of a tile: whole rows of both sides.
    tile: u64,
    /// Elements that are encoded at once: whole rows.
    piece: u64,
    found: OrderedSum<Found>,
}

/// What was found in some rows.
#[derive(Default)]
struct Found {
    blocks: u64,
    identical: u64,
    /// The squared error of what is stored.
    stored: f64,
    /// The squared error of what the encoder makes.
    again: f64,
}

impl Found {
    fn plus(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.identical += other.identical;
        self.stored += other.stored;
        self.again += other.again;
    }
}

/// A worker's buffers.
#[derive(Default)]
pub(super) struct Buffers {
    kept: Kept,
    read: SideBuffers<f32>,
    /// The original's numbers.
    values: Vec<f32>,
    /// Stored bytes.
    staging: Vec<u8>,
    /// The bytes that the encoder makes.
    again: Vec<u8>,
    decoded: Decoded,
}

impl<'m> Again<'m> {
    /// The pair, if these are the original and what was made of it.
    fn of(index: usize, original: Side<'m>, stored: Side<'m>, side: usize) -> Option<Self> {
        let (source, info, block) = stored_blocks(stored.stored)?;
        let encoder = encoder_of(block)?;
        let output = encoder.outputs(&info.name, &info.shape).ok()?;
        let output = output.first().filter(|_| output.len() == 1)?;
        let row = stored.view.row_len();
        let is_by_rows = info.shape.last() == Some(&row) && output.bytes == info.bytes;
        let is_seen_as_it_is = !stored.view.changes_values() && stored.view.transposed.is_none();
        let fits = original.view.shape == stored.view.shape
            && original.view.transposed.is_none()
            && is_original(original.stored, stored.stored)
            && is_by_rows
            && is_seen_as_it_is
            && (1..=LONGEST_ROW).contains(&row);
        let weight = encoder.begin(&info.shape);
        let unit = least_common_multiple(row, original.unit.unwrap_or(1));
        (fits && !weight.needs_first_pass()).then(|| Self {
            index,
            side: ["a", "b"][side],
            source,
            info,
            block,
            groups: output.groups,
            name: encoder.name(),
            encoder: weight,
            elements: stored.elements(),
            tile: unit.saturating_mul((TILE / unit).max(1)),
            piece: row * (PIECE / row).max(1),
            original,
            stored,
            found: OrderedSum::default(),
        })
    }

    /// Bytes that a worker needs for a tile.
    fn needed_bytes(&self) -> Result<u64> {
        let read = self.original.needed_bytes(&self.elements_of(0), 4)?;
        // Numbers, those that are decoded, their levels; what is stored, and what is encoded.
        let held = 12 * self.piece + 2 * self.bytes_of(&(0..self.piece));
        Ok(read.saturating_add(held))
    }

    /// How many stored bytes some elements make.
    fn bytes_of(&self, elements: &Range<u64>) -> u64 {
        let bytes = self.groups.bytes_of(elements, self.info.bytes);
        bytes.end - bytes.start
    }

    /// The elements of a tile.
    fn elements_of(&self, tile: u64) -> Range<u64> {
        let start = tile.saturating_mul(self.tile);
        start..start.saturating_add(self.tile).min(self.elements)
    }

    /// Encodes some rows that are one after the other on the stored side, too: `seen` are their
    /// elements as both sides see them, `rows` those of the stored weight.
    fn look_at(
        &self,
        tile: &Range<u64>,
        seen: Range<u64>,
        rows: &Range<u64>,
        buffers: &mut Buffers,
    ) -> Result<Found> {
        self.read(tile, seen, buffers)?;
        let Buffers { values, staging, again, decoded, .. } = buffers;
        let place = self.groups.bytes_of(rows, self.info.bytes);
        let slab = Slab::whole(0, place.start, place.end - place.start);
        let stored = self.source.fetch(self.info, &slab, staging)?.bytes();
        again.clear();
        again.resize(stored.len(), 0);
        self.encoder.encode(rows.clone(), values, &mut [&mut again[..]])?;
        let size = (self.block.bytes as usize).max(1);
        let blocks = stored.chunks(size).zip(again.chunks(size));
        let identical = blocks.filter(|(stored, again)| stored == again).count() as u64;
        let mut error = |bytes: &[u8]| self.error(rows, bytes, values, decoded);
        let of_stored = error(stored)?;
        let of_again = if stored == again { of_stored } else { error(again)? };
        let blocks = stored.len().div_ceil(size) as u64;
        Ok(Found { blocks, identical, stored: of_stored, again: of_again })
    }

    /// Reads the numbers of the original, a few at a time.
    fn read(&self, tile: &Range<u64>, seen: Range<u64>, buffers: &mut Buffers) -> Result<()> {
        let Buffers { kept, read, values, .. } = buffers;
        values.clear();
        for elements in steps_of(seen, PIECE) {
            let chunk = Chunk { tile: tile.clone(), elements };
            values.extend_from_slice(self.original.read(&chunk, read, kept)?);
        }
        Ok(())
    }

    /// The squared error of some blocks.
    fn error(
        &self,
        rows: &Range<u64>,
        bytes: &[u8],
        values: &[f32],
        decoded: &mut Decoded,
    ) -> Result<f64> {
        decoded.start(values.len());
        if !self.encoder.decode(rows.clone(), &[bytes], decoded)? {
            return Err(Error::unsupported(format!("{} cannot be decoded", self.name)));
        }
        let square = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
        Ok(values.iter().zip(&decoded.numbers).map(square).sum())
    }

    fn outcome(self) -> Reencoded {
        let Found { blocks, identical, stored, again } = self.found.sum();
        let ratio = (again > 0.0).then(|| (stored / again).sqrt());
        Reencoded {
            encoder: self.name,
            side: self.side,
            identical_blocks: identical,
            blocks,
            error_ratio: ratio.filter(|ratio| ratio.is_finite()),
        }
    }
}

impl Tiled for Again<'_> {
    type Buffers = Buffers;

    fn tiles(&self) -> u64 {
        self.elements.div_ceil(self.tile.max(1))
    }

    fn weights(&self) -> Vec<&Weight> {
        vec![self.original.stored, self.stored.stored]
    }

    fn tile(&self, buffers: &mut Buffers, index: u64) -> Result<u64> {
        buffers.kept.clear();
        buffers.read.clear();
        let (tile, mut found) = (self.elements_of(index), Found::default());
        let mut at = tile.start;
        while at < tile.end {
            let rows = self.stored.view.run(at, tile.end.min(at + self.piece));
            let end = at + (rows.end - rows.start);
            found.plus(&self.look_at(&tile, at..end, &rows, buffers)?);
            at = end;
        }
        self.found.add(index, found, Found::plus);
        Ok(self.bytes_of(&tile))
    }
}

/// The one tensor of blocks that a weight is.
fn stored_blocks(weight: &Weight) -> Option<(&Source, &TensorInfo, &'static Block)> {
    let mut parts = weight.parts();
    let (Some((_, source, info)), None) = (parts.next(), parts.next()) else { return None };
    let StoredType::Block(block) = info.stored else { return None };
    let is_as_stored = SCHEMES.is_named_by_type(weight.scheme())
        && weight.shape() == &info.shape[..]
        && !weight.is_transposed();
    is_as_stored.then_some((source, info, block))
}

/// The encoder of a type of blocks, if it needs nothing but the numbers.
fn encoder_of(block: &'static Block) -> Option<Arc<dyn Encoder>> {
    let wanted = [StoredType::Block(block)];
    SCHEMES.encoders().find(|one| one.types() == wanted && !one.needs_importance())
}

/// Whether a weight can be what another was encoded from: plain numbers, or eight bits and more.
fn is_original(weight: &Weight, stored: &Weight) -> bool {
    if weight.is_plain() {
        return weight.native().is_some_and(|dtype: DType| dtype.is_float() && dtype.bits() >= 8);
    }
    let size = |of: &Weight| (u128::from(of.stored_bytes()), u128::from(of.elements()));
    let ((bytes, elements), (stored_bytes, stored_elements)) = (size(weight), size(stored));
    bytes >= elements && bytes * stored_elements > stored_bytes * elements
}
