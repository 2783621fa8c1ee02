//! ComfyUI's MXFP8: a power of two for every 32 columns, in the order of the matrix units.
//!
//! ```text
//! X.weight         F8_E4M3 [rows, columns]
//! X.weight_scale   E8M0 [rows up to whole 128s, columns / 32 up to whole 4s], see `swizzle`
//! ```
//!
//! The byte 0 stands for zero, not for 2^-127 as elsewhere: it is what comfy-kitchen's
//! `dequantize_mxfp8` decodes, and what its quantizer writes for groups of zeros.

use std::ops::Range;

use crate::arithmetic::matrix::{Factor, Factors, RowGroups, scale_of};
use crate::arithmetic::swizzle::{self, Tiles};
use crate::dtype::DType;
use crate::error::Result;
use crate::source::Slab;

/// Columns that share a scale.
pub(super) const GROUP: u64 = 32;

/// Scales in tiles.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tiled(Tiles);

impl Tiled {
    /// The scales of a weight, if the shapes say so.
    pub(super) fn of(shape: &[u64], scales: &[u64]) -> Result<Self, String> {
        let &[rows, columns] = shape else {
            refuse!("it has shape {shape:?}, MXFP8 in tiles has two dimensions")
        };
        let expected = swizzle::padded(rows, columns.div_ceil(GROUP));
        match columns % GROUP == 0 && scales == expected {
            true => Ok(Self(Tiles::of_columns(expected[1]))),
            false => Err(format!(
                "scales of shape {scales:?} do not fit a weight of shape {shape:?}, expected \
                 {expected:?}"
            )),
        }
    }
}

impl Factors for Tiled {
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.push(self.0.slab(1, &rows));
    }

    fn fill(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()> {
        let &RowGroups { staged, first, row, ref groups, .. } = of;
        let bytes = staged[0].bytes();
        for (group, out) in groups.clone().zip(out) {
            let at = self.0.place(first, row, group);
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
        assert_eq!(Tiled::of(&[130, 160], &[256, 8]), Ok(Tiled(Tiles::of_columns(8))));
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
