//! Group scales with a global scale for the whole matrix, as nvfp4 may have.

use std::ops::Range;

use crate::arithmetic::matrix::{Factor, Factors, GROUPS, Grid, RowGroups};
use crate::dtype::DType;
use crate::error::Result;
use crate::source::Slab;

/// Largest E4M3 times largest E2M1. The global scale is the largest weight, and the group scales
/// use their whole range below it.
const RANGE: f32 = 448.0 * 6.0;

/// `scale * (global / 2688)`, each step rounded to f32.
pub(super) struct GlobalScale {
    scale: Grid,
    global: Grid,
}

impl GlobalScale {
    /// Creates one for the whole weight, or one `of_each` stacked matrix of `rows` rows.
    pub(super) fn new(scale: Grid, rows: u64, of_each: bool) -> Self {
        let single = Grid::single(2, DType::F32);
        let global = if of_each { Grid { matrix: rows, ..single } } else { single };
        Self { scale, global }
    }
}

impl Factors for GlobalScale {
    fn needs(&self, rows: Range<u64>, _: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.extend([self.scale.slab(&rows), self.global.slab(&rows)]);
    }

    fn fill(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()> {
        let &RowGroups { staged, first, row, ref groups, .. } = of;
        let global = self.global.number(&staged[1], first, row, 0) / RANGE;
        let mut scales = [0.0; GROUPS];
        let scales = &mut scales[..out.len()];
        self.scale.numbers(&staged[0], first, row, groups.start, scales);
        for (out, scale) in out.iter_mut().zip(scales) {
            *out = Factor { scale: *scale * global, offset: 0.0 };
        }
        Ok(())
    }
}
