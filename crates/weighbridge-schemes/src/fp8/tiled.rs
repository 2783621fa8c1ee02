//! ComfyUI's MXFP8: one power of two per 32 columns, in the order of the matrix units.
//!
//! ```text
//! X.weight         F8_E4M3 [rows, columns]
//! X.weight_scale   E8M0 [rows up to whole 128s, columns / 32 up to whole 4s], see `swizzle`
//! ```
//!
//! See [`TiledScales`](crate::arithmetic::tiled_scales::TiledScales) for what the bytes mean.

use crate::arithmetic::swizzle::{self, Tiles};

/// Columns that share a scale.
pub(super) const GROUP: u64 = 32;

/// Returns the tiles of a weight's scales, if the shapes fit.
pub(super) fn tiles_of(shape: &[u64], scales: &[u64]) -> Result<Tiles, String> {
    let &[rows, columns] = shape else {
        refuse!("its shape is {shape:?}, but tiled MXFP8 needs two dimensions")
    };
    let expected = swizzle::padded(rows, columns.div_ceil(GROUP));
    refuse_if!(
        columns % GROUP != 0 || scales != expected,
        "scales of shape {scales:?} do not fit a weight of shape {shape:?}, expected {expected:?}"
    );
    Ok(Tiles::of_columns(expected[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_must_be_those_of_whole_tiles() {
        assert_eq!(tiles_of(&[130, 160], &[256, 8]), Ok(Tiles::of_columns(8)));
        for (shape, scales) in [
            (&[130, 160][..], &[130, 5][..]),
            (&[130, 160], &[256, 5]),
            (&[130, 161], &[256, 8]),
            (&[2, 130, 160], &[2, 256, 8]),
            (&[u64::MAX, 0], &[0, 0]),
            (&[0, u64::MAX], &[0, 0]),
        ] {
            assert!(tiles_of(shape, scales).is_err(), "{shape:?} {scales:?}");
        }
    }
}
