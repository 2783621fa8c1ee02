//! Hashes the stored bytes of a part of a weight, as the source hands them out: row-major and
//! little-endian.

use super::tree::TreeHash;
use crate::catalog::{Order, TensorInfo};
use crate::error::Result;
use crate::model::Weight;
use crate::pipeline::{Tiled, announce_part};
use crate::source::{Access, Slab, Source};

/// Bytes that are read and hashed at once: they stay in the second-level cache.
const TILE: u64 = 128 << 10;

/// Tile size for tensors with scattered elements: each tile may read the whole tensor.
const SCATTERED: u64 = 16 << 20;

/// A stored tensor that is being hashed.
pub(super) struct StoredPart<'m> {
    pub(super) weight: &'m Weight,
    pub(super) source: &'m Source,
    pub(super) info: &'m TensorInfo,
    pub(super) tree: TreeHash,
}

impl<'m> StoredPart<'m> {
    pub(super) fn new(weight: &'m Weight, source: &'m Source, info: &'m TensorInfo) -> Self {
        let tiles = info.bytes.div_ceil(step(info));
        Self { weight, source, info, tree: TreeHash::new(tiles) }
    }

    /// Bytes that a worker needs for a tile.
    pub(super) fn needed_bytes(&self) -> u64 {
        step(self.info).min(self.info.bytes)
    }
}

fn step(info: &TensorInfo) -> u64 {
    if info.place.order == Order::RowMajor { TILE } else { SCATTERED }
}

impl Tiled for StoredPart<'_> {
    type Buffers = Vec<u8>;

    fn tiles(&self) -> u64 {
        self.info.bytes.div_ceil(step(self.info))
    }

    fn is_sequential(&self) -> bool {
        self.source.access(self.info) == Access::Sequential
    }

    fn announce(&self) {
        announce_part(self.source, self.info);
    }

    fn tile(&self, buffer: &mut Vec<u8>, tile: u64) -> Result<u64> {
        let start = tile * step(self.info);
        let slab = Slab::whole(0, start, step(self.info).min(self.info.bytes - start));
        let staged = self.source.fetch(self.info, &slab, buffer)?;
        self.tree.add(tile, start, staged.bytes());
        Ok(slab.row_bytes)
    }
}
