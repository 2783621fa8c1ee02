//! How a pair is cut into tiles, whoever works on it.
//!
//! Where both sides lie in the same order, a tile is a stretch of elements; where one side can be
//! decoded by whole rows only, a stretch that is made of such rows. Where one side is turned, a
//! tile is a block of the matrix: short pieces of many rows on the one side are short pieces of
//! many rows on the other too, and nothing is read twice.

use std::ops::Range;

use super::side::{Seen, lcm};
use crate::error::{Error, Result};

/// Elements of both sides that are decoded and compared before the next ones are: they hardly
/// leave the first cache. Whole blocks of every type.
const CHUNK: u64 = 16 << 10;

/// Elements of a tile that needs no whole rows.
const TILE: u64 = 256 << 10;

/// Elements of a tile that is made of rows that lie across the stored ones: read in as many pieces
/// whatever its height.
const PANEL: u64 = 4 << 20;

/// Rows and columns of a block.
const BLOCK: u64 = 512;

/// A part of a pair, as it is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Area {
    /// Elements, counted through the whole view.
    Flat(Range<u64>),
    /// Some columns of some rows.
    Block(Block),
}

/// Some columns of some rows of a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) rows: Range<u64>,
    pub(super) columns: Range<u64>,
    /// Columns of the whole matrix.
    pub(super) all_columns: u64,
}

impl Block {
    pub(super) fn len(&self) -> Result<usize> {
        let rows = self.rows.end - self.rows.start;
        let elements = rows.checked_mul(self.columns.end - self.columns.start);
        let len = elements.and_then(|elements| usize::try_from(elements).ok());
        len.ok_or_else(|| Error::limit("a block is larger than this machine can address"))
    }
}

impl Area {
    pub(super) fn elements(&self) -> u64 {
        match self {
            Self::Flat(elements) => elements.end - elements.start,
            Self::Block(Block { rows, columns, .. }) => {
                (rows.end - rows.start) * (columns.end - columns.start)
            }
        }
    }

    /// Where an element of the area stands in the view.
    pub(super) fn index(&self, at: u64) -> u64 {
        match self {
            Self::Flat(elements) => elements.start + at,
            Self::Block(block) => {
                let width = (block.columns.end - block.columns.start).max(1);
                let row = block.rows.start + at / width;
                row * block.all_columns + block.columns.start + at % width
            }
        }
    }

    /// What is decoded and compared at once.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Self> + use<> {
        let (whole, flat) = match self {
            Self::Flat(elements) => (None, elements.clone()),
            Self::Block(_) => (Some(self.clone()), 0..0),
        };
        let count = (flat.end - flat.start).div_ceil(CHUNK);
        let chunk = move |index: u64| {
            let start = flat.start + index * CHUNK;
            Self::Flat(start..(start + CHUNK).min(flat.end))
        };
        whole.into_iter().chain((0..count).map(chunk))
    }
}

/// The tiles of a pair.
#[derive(Clone, Debug)]
pub(super) enum Tiling {
    /// Stretches of so many elements.
    Flat { elements: u64, step: u64 },
    /// Blocks of so many rows and columns.
    Blocks { rows: u64, columns: u64, row_step: u64, column_step: u64 },
}

impl Tiling {
    /// Of two sides that are seen in the same shape.
    pub(super) fn of(a: &Seen<'_>, b: &Seen<'_>) -> Self {
        match a.view.transposed || b.view.transposed {
            true => Self::of_turned(a, b),
            false => Self::of_stretches(a, b),
        }
    }

    fn of_stretches(a: &Seen<'_>, b: &Seen<'_>) -> Self {
        let unit = lcm(a.unit(), b.unit());
        let turned = [a, b].iter().filter(|side| side.weight.is_turned()).count() as u64;
        // Two panels are held if both sides need one.
        let most = match turned {
            0 => TILE,
            sides => PANEL / sides,
        };
        let elements = a.elements();
        Self::Flat {
            elements,
            step: (most / unit).max(1).saturating_mul(unit).min(elements.max(1)),
        }
    }

    fn of_turned(a: &Seen<'_>, b: &Seen<'_>) -> Self {
        let (rows, columns) = (a.view.row_count(), a.view.row_len());
        let (mut row_step, mut column_step) = (BLOCK, BLOCK);
        for side in [a, b].into_iter().filter(|side| side.row.is_some()) {
            // Whole rows of the weight: a panel of them.
            match side.view.transposed {
                true => (row_step, column_step) = (rows, column_step.max(PANEL / rows.max(1))),
                false => (row_step, column_step) = (row_step.max(PANEL / columns.max(1)), columns),
            }
        }
        let within = |step: u64, all: u64| step.clamp(1, all.max(1));
        Self::Blocks {
            rows,
            columns,
            row_step: within(row_step, rows),
            column_step: within(column_step, columns),
        }
    }

    pub(super) fn tiles(&self) -> u64 {
        match *self {
            Self::Flat { elements, step } => elements.div_ceil(step),
            Self::Blocks { rows, columns, row_step, column_step } => {
                rows.div_ceil(row_step) * columns.div_ceil(column_step)
            }
        }
    }

    pub(super) fn tile(&self, index: u64) -> Area {
        match *self {
            Self::Flat { elements, step } => {
                let start = index * step;
                Area::Flat(start..start.saturating_add(step).min(elements))
            }
            Self::Blocks { rows, columns, row_step, column_step } => {
                let across = columns.div_ceil(column_step).max(1);
                let (row, column) = (index / across * row_step, index % across * column_step);
                Area::Block(Block {
                    rows: row..(row + row_step).min(rows),
                    columns: column..(column + column_step).min(columns),
                    all_columns: columns,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_a_matrix_once() {
        let tiling = Tiling::Blocks { rows: 7, columns: 5, row_step: 3, column_step: 2 };
        let mut seen = vec![0; 35];
        for tile in (0..tiling.tiles()).map(|index| tiling.tile(index)) {
            for at in 0..tile.elements() {
                seen[usize::try_from(tile.index(at)).unwrap()] += 1;
            }
        }
        assert_eq!(seen, [1; 35]);
    }

    #[test]
    fn stretches_and_their_chunks_cover_everything_once() {
        let tiling = Tiling::Flat { elements: 100_000, step: 70_000 };
        let tiles = (0..tiling.tiles()).map(|index| tiling.tile(index));
        let chunks: Vec<Area> = tiles.flat_map(|tile| tile.chunks()).collect();
        let ends = |area: &Area| match area {
            Area::Flat(range) => (range.start, range.end),
            Area::Block(_) => panic!(),
        };
        let ends: Vec<_> = chunks.iter().map(ends).collect();
        assert_eq!(ends[0].0, 0);
        assert!(ends.windows(2).all(|two| two[0].1 == two[1].0));
        assert_eq!(ends.last().unwrap().1, 100_000);
    }
}
