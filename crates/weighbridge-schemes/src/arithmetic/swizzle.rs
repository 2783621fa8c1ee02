//! Scales in the order of cuBLAS's block-scaled products.
//!
//! ```text
//! tiles of 128 rows x 4 columns, row of tiles by row of tiles, 512 bytes each
//! in a tile, row r = 32 q + p and column c lie at byte 16 p + 4 q + c
//! ```
//!
//! Sides are padded to whole tiles, so the tensor has as many bytes as its shape says.

use std::ops::Range;

use crate::source::Slab;

/// Rows per tile.
pub(crate) const ROWS: u64 = 128;
/// Columns per tile.
pub(crate) const COLUMNS: u64 = 4;

/// A grid of scales in tiles, one byte per scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tiles {
    /// Tiles per row of tiles.
    across: u64,
}

impl Tiles {
    /// Creates the tiles of scales with `columns` columns, padding included.
    pub(crate) fn of_columns(columns: u64) -> Self {
        Self { across: columns / COLUMNS }
    }

    /// Returns the bytes of `part` that hold the scales of some rows.
    pub(crate) fn slab(self, part: usize, rows: &Range<u64>) -> Slab {
        let row_of_tiles = self.across * ROWS * COLUMNS;
        let tiles = rows.start / ROWS..rows.end.div_ceil(ROWS);
        let bytes = (tiles.end - tiles.start) * row_of_tiles;
        Slab::whole(part, tiles.start * row_of_tiles, bytes)
    }

    /// Returns the position of a scale in a slab of rows that start with `first`.
    pub(crate) fn place(self, first: u64, row: u64, column: u64) -> usize {
        let row = row - first / ROWS * ROWS;
        let tile = row / ROWS * self.across + column / COLUMNS;
        let inside = row % 32 * 16 + row % ROWS / 32 * COLUMNS + column % COLUMNS;
        // Staged bytes are in memory, so their positions fit.
        usize::try_from(tile * (ROWS * COLUMNS) + inside).unwrap_or(usize::MAX)
    }
}

/// Returns the rows and columns of scales after padding to whole tiles, saturating.
pub(crate) fn padded(rows: u64, columns: u64) -> [u64; 2] {
    let whole = |side: u64, tile: u64| side.div_ceil(tile).saturating_mul(tile);
    [whole(rows, ROWS), whole(columns, COLUMNS)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place of a padded grid is taken once.
    #[test]
    fn places_are_a_permutation() {
        let (tiles, rows) = (Tiles { across: 3 }, 256);
        let mut seen = vec![false; 256 * 12];
        for row in 0..rows {
            for column in 0..3 * COLUMNS {
                let at = tiles.place(0, row, column);
                assert!(!std::mem::replace(&mut seen[at], true), "{row} {column}");
            }
        }
        assert!(seen.iter().all(|seen| *seen));
    }

    /// As cuBLAS's documentation draws a tile.
    #[test]
    fn a_tile_has_four_rows_of_columns_side_by_side() {
        let tiles = Tiles { across: 2 };
        let places = [(0, 0, 0), (0, 3, 3), (32, 0, 4), (96, 3, 15), (1, 0, 16), (127, 3, 511)];
        for (row, column, at) in places {
            assert_eq!(tiles.place(0, row, column), at);
        }
        assert_eq!(tiles.place(0, 0, 4), 512);
        assert_eq!(tiles.place(0, 128, 0), 1024);
        assert_eq!(tiles.place(130, 128, 0), 0, "the slab starts with the tile of its first row");
    }
}
