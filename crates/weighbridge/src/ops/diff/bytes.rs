//! Compares the stored bytes of two weights, up to the first difference.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::catalog::{Order, TensorInfo};
use crate::compare::{self, NonFinite};
use crate::dtype::DType;
use crate::error::Result;
use crate::model::{Model, Weight};
use crate::pipeline::{Group, Tiled, announce_range};
use crate::schemes::SCHEMES;
use crate::source::{Access, Slab, Source};

/// Bytes of each side that are compared at once: both fit in the second-level cache.
const TILE: u64 = 256 << 10;

/// Bytes that are announced to sources with latency at a time.
const SOON: u64 = 8 << 20;

/// Bytes compared at once of a tensor with scattered elements: each tile may read all of it.
const SCATTERED: u64 = 16 << 20;

type Stored<'m> = (&'m Source, &'m TensorInfo);

/// Two weights whose bytes are compared.
pub(super) struct Bytes<'m> {
    parts: Vec<(Stored<'m>, Stored<'m>)>,
    differ: AtomicBool,
    /// The element type of plain weights: their non-finite numbers are counted.
    element: Option<DType>,
    nan: AtomicU64,
    infinite: AtomicU64,
    /// What is announced of it belongs together.
    group: Group,
}

impl<'m> Bytes<'m> {
    /// A comparison of two weights for which equal bytes mean equal numbers; otherwise `None`.
    pub(super) fn of(a: &'m Weight, b: &'m Weight, same_description: bool) -> Option<Self> {
        // For other schemes, configs and metadata may decide what the bytes mean.
        let is_self_describing = SCHEMES.is_named_by_type(a.scheme());
        let is_same_kind = a.scheme() == b.scheme()
            && a.variant() == b.variant()
            && a.shape() == b.shape()
            && a.native() == b.native()
            && (is_self_describing || same_description);
        let parts: Vec<_> = a.parts().zip(b.parts()).collect();
        let all =
            is_same_kind && parts.len() == a.parts().count() && parts.len() == b.parts().count();
        let alike =
            |((role_a, _, a), (role_b, _, b)): &((_, _, &TensorInfo), (_, _, &TensorInfo))| {
                role_a == role_b && a.stored == b.stored && a.shape == b.shape && a.bytes == b.bytes
            };
        let is_readable =
            |(_, source, info): &(&str, &Source, &TensorInfo)| source.check_readable(info).is_ok();
        let is_comparable =
            parts.iter().all(|two| alike(two) && is_readable(&two.0) && is_readable(&two.1));
        let stored = |((_, a, in_a), (_, b, in_b))| ((a, in_a), (b, in_b));
        (all && is_comparable).then(|| Self {
            parts: parts.into_iter().map(stored).collect(),
            differ: AtomicBool::new(false),
            element: a.native().filter(|_| a.is_plain()),
            nan: AtomicU64::new(0),
            infinite: AtomicU64::new(0),
            group: Group::next(),
        })
    }

    fn count(&self, bytes: &[u8]) {
        if let Some(NonFinite { nan, infinite }) =
            self.element.and_then(|dtype| compare::count_non_finite(dtype, bytes))
        {
            self.nan.fetch_add(nan, Ordering::Relaxed);
            self.infinite.fetch_add(infinite, Ordering::Relaxed);
        }
    }

    /// How many numbers are not finite, if bytes alone tell.
    pub(super) fn non_finite(&self) -> Option<NonFinite> {
        self.element.and_then(|dtype| compare::count_non_finite(dtype, &[]))?;
        let (nan, infinite) =
            (self.nan.load(Ordering::Relaxed), self.infinite.load(Ordering::Relaxed));
        Some(NonFinite { nan, infinite })
    }

    /// Whether all bytes are the same, once all tiles are done.
    pub(super) fn are_same(&self) -> bool {
        !self.differ.load(Ordering::Relaxed)
    }
}

fn step((_, info): Stored<'_>) -> u64 {
    if info.place.order == Order::RowMajor { TILE } else { SCATTERED }
}

fn tiles_of((a, b): &(Stored<'_>, Stored<'_>)) -> u64 {
    a.1.bytes.div_ceil(step(*a).max(step(*b)))
}

/// Whether configs and metadata, which may decide what bytes mean, are the same.
pub(super) fn same_description(a: &Model, b: &Model) -> bool {
    let configs = |model: &Model| -> Vec<_> {
        let mut all: Vec<_> = model
            .configs()
            .iter()
            .map(|config| (config.name.clone(), config.json.clone()))
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    let metadata = |model: &Model| -> Vec<_> {
        let of = |source: &Source| source.catalog().metadata.clone();
        model.sources().iter().map(of).collect()
    };
    configs(a) == configs(b) && metadata(a) == metadata(b)
}

impl Tiled for Bytes<'_> {
    type Buffers = [Vec<u8>; 2];

    fn tiles(&self) -> u64 {
        self.parts.iter().map(tiles_of).sum()
    }

    fn is_sequential(&self) -> bool {
        let is = |(source, info): Stored<'_>| source.access(info) == Access::Sequential;
        self.parts.iter().any(|(a, b)| is(*a) || is(*b))
    }

    fn is_settled(&self) -> bool {
        !self.are_same()
    }

    fn tile(&self, [buffer_a, buffer_b]: &mut Self::Buffers, mut tile: u64) -> Result<u64> {
        for part in &self.parts {
            let tiles = tiles_of(part);
            if tile >= tiles {
                tile -= tiles;
                continue;
            }
            let ((source_a, info_a), (source_b, info_b)) = *part;
            let step = step(part.0).max(step(part.1));
            let start = tile * step;
            if tile.is_multiple_of(SOON / TILE) {
                // Not all at once: most pairs that differ do so in their first bytes.
                let soon = start..start.saturating_add(2 * SOON);
                announce_range(source_a, info_a, soon.clone(), self.group);
                announce_range(source_b, info_b, soon, self.group);
            }
            let slab = Slab::whole(0, start, step.min(info_a.bytes - start));
            let a = source_a.fetch(info_a, &slab, buffer_a);
            let b = source_b.fetch(info_b, &slab, buffer_b);
            // An error in reading is reported when the weight is decoded.
            let same = a.ok().zip(b.ok()).filter(|(a, b)| a.bytes() == b.bytes());
            match same {
                Some((a, _)) => self.count(a.bytes()),
                None => self.differ.store(true, Ordering::Relaxed),
            }
            return Ok(2 * slab.row_bytes);
        }
        Ok(0)
    }
}
