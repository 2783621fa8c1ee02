//! Scales in tiles, with a factor for all of them.

use std::ops::Range;

use crate::arithmetic::matrix::{Factor, Factors, RowGroups, rounded, scale_of};
use crate::arithmetic::swizzle::Tiles;
use crate::dtype::DType;
use crate::error::Result;
use crate::source::Slab;

/// Swizzled E4M3 scales (part 1) and the F32 factor for all (part 2).
pub(super) struct Swizzled {
    pub(super) tiles: Tiles,
    /// The type that each step is rounded to when the output is of the native type.
    pub(super) steps: Option<DType>,
}

impl Factors for Swizzled {
    fn needs(&self, rows: Range<u64>, _: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.push(self.tiles.slab(1, &rows));
        slabs.push(Slab::whole(2, 0, 4));
    }

    fn fill(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()> {
        let &RowGroups { staged, first, row, ref groups, native, .. } = of;
        let steps = self.steps.filter(|_| native);
        let whole = rounded(steps, scale_of(DType::F32, staged[1].bytes(), 0));
        for (group, out) in groups.clone().zip(out) {
            let at = self.tiles.place(first, row, group);
            let cell = scale_of(DType::F8_E4M3, staged[0].bytes(), at);
            *out = Factor { scale: rounded(steps, cell * whole), offset: 0.0 };
        }
        Ok(())
    }
}
