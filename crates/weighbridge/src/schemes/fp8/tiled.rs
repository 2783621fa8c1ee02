//! ComfyUI's MXFP8: a power of two for every 32 columns, in the order of the matrix units.
//!
//! ```text
//! X.weight         F8_E4M3 [rows, columns]
//! X.weight_scale   E8M0 [rows up to whole 128s, columns / 32 up to whole 4s], in tiles
//! ```
//!
//! A tile holds the scales of 128 rows and 4 groups in 512 bytes, tile after tile along the
//! columns; scale `r, g` of a tile is byte `16 (r mod 32) + 4 (r / 32) + g`. The byte 0 stands for
//! nought, not for 2^-127 as elsewhere: it is what comfy-kitchen's `dequantize_mxfp8` decodes, and
//! what its quantizer writes for groups of noughts.

use std::ops::Range;

use crate::dtype::DType;
use crate::error::Result;
use crate::schemes::matrix::{Factor, Factors, scale_of};
use crate::source::{Slab, Staged};

/// Columns that share a scale.
pub(super) const GROUP: u64 = 32;

/// Rows and groups of a tile.
const TILE: [u64; 2] = [128, 4];

/// Scales in tiles.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tiled {
    /// Tiles side by side.
    tiles: u64,
}

impl Tiled {
    /// The scales of a weight, if the shapes say so.
    pub(super) fn of(shape: &[u64], scales: &[u64]) -> Result<Self, String> {
        let &[rows, columns] = shape else {
            return Err(format!("it has shape {shape:?}, MXFP8 in tiles has two dimensions"));
        };
        let whole = |side: u64, tile: u64| side.div_ceil(tile).saturating_mul(tile);
        let expected = [whole(rows, TILE[0]), whole(columns.div_ceil(GROUP), TILE[1])];
        match columns % GROUP == 0 && scales == expected {
            true => Ok(Self { tiles: expected[1] / TILE[1] }),
            false => Err(format!(
                "scales of shape {scales:?} do not fit a weight of shape {shape:?}, expected \
                 {expected:?}"
            )),
        }
    }

    fn row_bytes(&self) -> u64 {
        self.tiles * TILE[0] * TILE[1]
    }
}

impl Factors for Tiled {
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        let (first, end) = (rows.start / TILE[0], rows.end.div_ceil(TILE[0]));
        let bytes = self.row_bytes();
        slabs.push(Slab::whole(1, first * bytes, (end - first) * bytes));
    }

    #[allow(clippy::cast_possible_truncation)] // The bytes are in memory.
    fn fill(
        &self,
        staged: &[Staged<'_>],
        first: u64,
        row: u64,
        groups: Range<u64>,
        _native: bool,
        out: &mut [Factor],
    ) -> Result<()> {
        let bytes = staged[0].bytes();
        let start = (row / TILE[0] - first / TILE[0]) * self.row_bytes();
        let inside = row % 32 * 16 + row % TILE[0] / 32 * TILE[1];
        for (group, out) in groups.zip(out) {
            let tile = start + group / TILE[1] * TILE[0] * TILE[1];
            let at = (tile + inside + group % TILE[1]) as usize;
            let scale = match bytes[at] {
                0 => 0.0,
                _ => scale_of(DType::F8_E8M0, bytes, at),
            };
            *out = Factor { scale, offset: 0.0 };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_must_be_those_of_whole_tiles() {
        assert_eq!(Tiled::of(&[130, 160], &[256, 8]), Ok(Tiled { tiles: 2 }));
        for (shape, scales) in [
            (&[130, 160][..], &[130, 5][..]),
            (&[130, 160], &[256, 5]),
            (&[130, 161], &[256, 8]),
            (&[2, 130, 160], &[2, 256, 8]),
            (&[u64::MAX, 0], &[0, 0]),
            (&[0, u64::MAX], &[0, 0]),
        ] {
            assert!(Tiled::of(shape, scales).is_err(), "{shape:?} {scales:?}");
        }
    }
}
