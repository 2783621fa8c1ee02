//! Scales in the order of cuBLAS's block-scaled products.
//!
//! ```text
//! tiles of 128 rows x 4 columns, row of tiles by row of tiles, 512 bytes each
//! in a tile, row r = 32 q + p and column c lie at byte 16 p + 4 q + c
//! ```
//!
//! Sides are padded to whole tiles, so the tensor has as many bytes as its shape says.

use std::ops::Range;

use crate::dtype::DType;
use crate::error::Result;
use crate::schemes::matrix::{Factor, Factors, rounded, scale_of};
use crate::source::{Slab, Staged};

/// Rows of a tile.
pub(super) const ROWS: u64 = 128;
/// Columns of a tile.
pub(super) const COLUMNS: u64 = 4;

/// Swizzled E4M3 scales (part 1) and the F32 factor for all (part 2).
pub(super) struct Swizzled {
    /// Tiles beside one another.
    pub(super) tiles: u64,
    /// The type that each step is rounded to when the output is of the native type.
    pub(super) steps: Option<DType>,
}

/// The place of a scale, in rows that start at a tile.
fn place(tiles: u64, row: u64, column: u64) -> u64 {
    let tile = row / ROWS * tiles + column / COLUMNS;
    tile * (ROWS * COLUMNS) + row % 32 * 16 + row % ROWS / 32 * COLUMNS + column % COLUMNS
}

impl Factors for Swizzled {
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        let row_of_tiles = self.tiles * ROWS * COLUMNS;
        let tiles = rows.start / ROWS..rows.end.div_ceil(ROWS);
        let bytes = (tiles.end - tiles.start) * row_of_tiles;
        slabs.push(Slab::whole(1, tiles.start * row_of_tiles, bytes));
        slabs.push(Slab::whole(2, 0, 4));
    }

    fn fill(
        &self,
        staged: &[Staged<'_>],
        first: u64,
        row: u64,
        groups: Range<u64>,
        native: bool,
        out: &mut [Factor],
    ) -> Result<()> {
        let steps = self.steps.filter(|_| native);
        let whole = rounded(steps, scale_of(DType::F32, staged[1].bytes(), 0));
        let row = row - first / ROWS * ROWS;
        for (group, out) in groups.zip(out) {
            // What is staged is in memory: its places fit.
            let at = usize::try_from(place(self.tiles, row, group)).unwrap_or(usize::MAX);
            let cell = scale_of(DType::F8_E4M3, staged[0].bytes(), at);
            *out = Factor { scale: rounded(steps, cell * whole), offset: 0.0 };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place of a padded grid is taken once.
    #[test]
    fn places_are_a_permutation() {
        let (tiles, rows) = (3, 256);
        let mut seen = vec![false; 256 * 12];
        for row in 0..rows {
            for column in 0..tiles * COLUMNS {
                let at = usize::try_from(place(tiles, row, column)).unwrap();
                assert!(!std::mem::replace(&mut seen[at], true), "{row} {column}");
            }
        }
        assert!(seen.iter().all(|seen| *seen));
    }

    /// As cuBLAS's documentation draws a tile.
    #[test]
    fn a_tile_has_four_rows_of_columns_side_by_side() {
        let places = [(0, 0, 0), (0, 3, 3), (32, 0, 4), (96, 3, 15), (1, 0, 16), (127, 3, 511)];
        for (row, column, at) in places {
            assert_eq!(place(2, row, column), at);
        }
        assert_eq!(place(2, 0, 4), 512);
        assert_eq!(place(2, 128, 0), 1024);
    }
}
