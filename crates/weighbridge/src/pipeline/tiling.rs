//! How numbers are cut into tiles, whoever works on them.
//!
//! A tile is a stretch of elements. Where two sides are read together and one of them can be
//! decoded by whole rows only, the stretch is made of such rows. Where one side is transposed, a
//! tile is a block of the matrix: short pieces of many rows on the one side are short pieces of
//! many rows on the other too, and nothing is read twice.

use std::ops::Range;

use crate::error::{Error, Result};

/// Elements of both sides that are decoded and compared before the next ones are: they hardly
/// leave the first cache. Whole blocks of every type.
const CHUNK: u64 = 16 << 10;

/// Elements of a tile of two sides that needs no whole rows.
const PAIR_ELEMENTS: u64 = 256 << 10;

/// Elements of a tile that is made of rows that lie across the stored ones: at most 16 MiB of f32.
/// Such rows are read in as many pieces whatever the tile's height, so the pieces should not be
/// small.
pub(super) const ACROSS_ELEMENTS: u64 = 4 << 20;

/// Rows and columns of a block.
const BLOCK: u64 = 512;

/// What decides how a side that is read together with another is cut.
#[derive(Clone, Copy, Debug)]
pub struct SideShape {
    /// Rows and columns, as the other side sees them.
    pub rows: u64,
    /// See `rows`.
    pub columns: u64,
    /// A tile must be a multiple of this many elements, so that nothing is decoded twice.
    pub unit: u64,
    /// Nothing less than whole rows can be decoded.
    pub whole_rows: bool,
    /// The weight's rows lie across the stored ones.
    pub across: bool,
    /// Its rows are seen as columns.
    pub transposed: bool,
}

/// A tile, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Area {
    /// Elements, counted through everything that is cut.
    Flat(Range<u64>),
    /// Some columns of some rows.
    Block(Block),
}

/// Some columns of some rows of a matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The rows.
    pub rows: Range<u64>,
    /// The columns.
    pub columns: Range<u64>,
    /// Columns of the whole matrix.
    pub all_columns: u64,
}

impl Block {
    /// How many elements it has.
    pub(crate) fn len(&self) -> Result<usize> {
        let rows = self.rows.end - self.rows.start;
        let elements = rows.checked_mul(self.columns.end - self.columns.start);
        let len = elements.and_then(|elements| usize::try_from(elements).ok());
        len.ok_or_else(|| Error::limit("a block is larger than this machine can address"))
    }
}

impl Area {
    /// How many elements it has.
    #[must_use]
    pub fn elements(&self) -> u64 {
        match self {
            Self::Flat(elements) => elements.end - elements.start,
            Self::Block(Block { rows, columns, .. }) => {
                (rows.end - rows.start) * (columns.end - columns.start)
            }
        }
    }

    /// Where an element of the area stands among all that are cut.
    #[must_use]
    pub fn index(&self, at: u64) -> u64 {
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
    pub fn chunks(&self) -> impl Iterator<Item = Self> + use<> {
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

/// Tiles, known by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tiling {
    /// Stretches of `step` things each, the last one shorter.
    Stretches {
        /// How many things there are.
        all: u64,
        /// How many of them make a tile.
        step: u64,
    },
    /// Blocks of a matrix.
    Blocks {
        /// Rows of the matrix.
        rows: u64,
        /// Columns of the matrix.
        columns: u64,
        /// Rows of a block.
        row_step: u64,
        /// Columns of a block.
        column_step: u64,
    },
}

impl Tiling {
    /// Cuts two sides of `elements` elements that are seen in the same shape.
    #[must_use]
    pub fn of_pair(elements: u64, a: &SideShape, b: &SideShape) -> Self {
        match a.transposed || b.transposed {
            true => Self::of_transposed(a, b),
            false => Self::of_stretches(elements, a, b),
        }
    }

    fn of_stretches(elements: u64, a: &SideShape, b: &SideShape) -> Self {
        let unit = least_common_multiple(a.unit, b.unit);
        // Two large tiles are held if both sides need one.
        let most = match u64::from(a.across) + u64::from(b.across) {
            0 => PAIR_ELEMENTS,
            sides => ACROSS_ELEMENTS / sides,
        };
        let step = (most / unit).max(1).saturating_mul(unit).min(elements.max(1));
        Self::Stretches { all: elements, step }
    }

    fn of_transposed(a: &SideShape, b: &SideShape) -> Self {
        let (rows, columns) = (a.rows, a.columns);
        let (mut row_step, mut column_step) = (BLOCK, BLOCK);
        for side in [a, b].into_iter().filter(|side| side.whole_rows) {
            // Many whole rows of the weight.
            match side.transposed {
                true => {
                    (row_step, column_step) =
                        (rows, column_step.max(ACROSS_ELEMENTS / rows.max(1)));
                }
                false => {
                    (row_step, column_step) =
                        (row_step.max(ACROSS_ELEMENTS / columns.max(1)), columns);
                }
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

    /// How many tiles there are.
    #[must_use]
    pub fn tiles(&self) -> u64 {
        match *self {
            Self::Stretches { all, step } => all.div_ceil(step.max(1)),
            Self::Blocks { rows, columns, row_step, column_step } => {
                rows.div_ceil(row_step) * columns.div_ceil(column_step)
            }
        }
    }

    /// The tile of that number.
    #[must_use]
    pub fn tile(&self, index: u64) -> Area {
        match *self {
            Self::Stretches { all, step } => Area::Flat(stretch(index, step, all)),
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

/// Stretch number `index` of `all` things, `step` to each.
pub(super) fn stretch(index: u64, step: u64, all: u64) -> Range<u64> {
    let start = index.saturating_mul(step.max(1)).min(all);
    start..start.saturating_add(step.max(1)).min(all)
}

/// The least number of elements that both divide; of zero, one.
#[must_use]
pub fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a.max(1) / x).saturating_mul(b.max(1))
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
        let tiling = Tiling::Stretches { all: 100_000, step: 70_000 };
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
