//! How numbers are cut into tiles, whoever works on them.

use std::ops::Range;

use crate::model::Weight;
use crate::shape::least_common_multiple;

/// Elements of both sides that are decoded and compared before the next ones are: they hardly
/// leave the first cache. Whole blocks of every type.
pub const CHUNK: u64 = 16 << 10;

/// Elements of a tile of two sides that needs no whole rows.
const PAIR_ELEMENTS: u64 = 256 << 10;

/// Elements of a tile that is made of rows that lie across the stored ones: at most 16 MiB of f32.
/// Such rows are read in as many pieces whatever the tile's height, so the pieces should not be
/// small.
pub(super) const ACROSS_ELEMENTS: u64 = 4 << 20;

/// Tiles of `step` things each, the last one shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// How many things there are.
    pub all: u64,
    /// How many of them make a tile.
    pub step: u64,
}

impl Tiling {
    /// Cuts two weights of `elements` elements so that nothing is decoded twice.
    pub fn of_pair(elements: u64, a: &Weight, b: &Weight) -> Self {
        let units = [a, b].map(Weight::unit);
        let unit = units.into_iter().flatten().fold(1, least_common_multiple);
        let across = [a, b].into_iter().zip(units).filter(|(weight, _)| weight.is_transposed());
        // Two large tiles are held if both sides need one.
        let share = ACROSS_ELEMENTS / (across.clone().count() as u64).max(1);
        let batch = |(weight, unit): (&Weight, Option<u64>)| {
            unit.and_then(|_| weight.element_batch(share)).unwrap_or(share)
        };
        let most = across.map(batch).min().unwrap_or(PAIR_ELEMENTS);
        let step = (most / unit).max(1).saturating_mul(unit).min(elements.max(1));
        Self { all: elements, step }
    }

    /// How many tiles there are.
    pub fn tiles(&self) -> u64 {
        self.all.div_ceil(self.step.max(1))
    }

    /// The tile of that number.
    pub fn tile(&self, index: u64) -> Range<u64> {
        stretch(index, self.step, self.all)
    }
}

/// What of a tile is decoded and compared at once.
pub fn chunks(tile: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    steps_of(tile.clone(), CHUNK)
}

/// A range in steps, one after the other.
pub fn steps_of(all: Range<u64>, step: u64) -> impl Iterator<Item = Range<u64>> + use<> {
    let tiling = Tiling { all: all.end.saturating_sub(all.start), step };
    (0..tiling.tiles()).map(move |index| {
        let Range { start, end } = tiling.tile(index);
        all.start + start..all.start + end
    })
}

/// Stretch number `index` of `all` things, `step` to each.
pub(super) fn stretch(index: u64, step: u64, all: u64) -> Range<u64> {
    let start = index.saturating_mul(step.max(1)).min(all);
    start..start.saturating_add(step.max(1)).min(all)
}

/// The share of `bytes` that `part` of `whole` things take.
pub fn share_of(bytes: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(bytes) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_and_their_chunks_cover_everything_once() {
        let tiling = Tiling { all: 100_000, step: 70_000 };
        let tiles = (0..tiling.tiles()).map(|index| tiling.tile(index));
        let ends: Vec<_> = tiles.flat_map(|tile| chunks(&tile)).collect();
        assert_eq!(ends[0].start, 0);
        assert!(ends.windows(2).all(|two| two[0].end == two[1].start));
        assert_eq!(ends.last().unwrap().end, 100_000);
    }
}
