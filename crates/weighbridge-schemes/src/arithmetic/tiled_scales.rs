//! Scales in the tiles of [`swizzle`](super::swizzle), optionally with a global scale.
//!
//! The byte 0 stands for zero in every type, even in E8M0, where it is 2^-127 elsewhere.
//! comfy-kitchen decodes it as zero, and its quantizer writes it for groups of zeros.

use std::ops::Range;

use crate::arithmetic::matrix::{Factor, Factors, RowGroups, rounded, scale_of};
use crate::arithmetic::swizzle::Tiles;
use crate::dtype::DType;
use crate::error::Result;
use crate::source::Slab;

/// Tiled scales, one byte each (part 1).
pub(crate) struct TiledScales {
    pub(crate) tiles: Tiles,
    /// Type of the bytes.
    pub(crate) dtype: DType,
    /// Whether there is a global F32 scale (part 2).
    pub(crate) has_global: bool,
    /// Type that each step is rounded to if the output has the native type.
    pub(crate) steps: Option<DType>,
}

impl Factors for TiledScales {
    fn needs(&self, rows: Range<u64>, _: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.push(self.tiles.slab(1, &rows));
        slabs.extend(self.has_global.then(|| Slab::whole(2, 0, 4)));
    }

    fn fill(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()> {
        let &RowGroups { staged, first, row, ref groups, native, .. } = of;
        let (steps, bytes) = (self.steps.filter(|_| native), staged[0].bytes());
        let global = staged.get(1).map(|global| scale_of(DType::F32, global.bytes(), 0));
        let global = rounded(steps, global.unwrap_or(1.0));
        for (group, out) in groups.clone().zip(out) {
            let at = self.tiles.place(first, row, group);
            let cell = if bytes[at] == 0 { 0.0 } else { scale_of(self.dtype, bytes, at) };
            *out = Factor { scale: rounded(steps, cell * global), offset: 0.0 };
        }
        Ok(())
    }
}
