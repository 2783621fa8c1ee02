//! Scales in the tiles of [`swizzle`](super::swizzle), perhaps below a factor for all of them.
//!
//! The byte 0 stands for zero in every type, also in E8M0, where it is 2^-127 elsewhere: that is
//! what comfy-kitchen decodes, and what its quantizer writes for groups of zeros.

use std::ops::Range;

use crate::arithmetic::matrix::{Factor, Factors, RowGroups, rounded, scale_of};
use crate::arithmetic::swizzle::Tiles;
use crate::dtype::DType;
use crate::error::Result;
use crate::source::Slab;

/// A byte for each scale (part 1).
pub(crate) struct TiledScales {
    pub(crate) tiles: Tiles,
    /// What the bytes are.
    pub(crate) dtype: DType,
    /// Whether there is an F32 factor for all of them (part 2).
    pub(crate) has_global: bool,
    /// The type that each step is rounded to when the output is of the native type.
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
