//! Sources of a block's scale: stored directly, or itself as a code.

use std::ops::Range;

use super::state::Nested;
use crate::arithmetic::matrix::{Factor, Factors, GROUPS, RowGroups};
use crate::arithmetic::plain;
use crate::dtype::DType;
use crate::error::Result;
use crate::source::Slab;

/// Parts of a weight, in the order of its bid.
const ABSMAX: usize = 1;
const NESTED_ABSMAX: usize = 2;
const NESTED_MAP: usize = 3;

/// Entries of the map for nested codes.
pub(super) const MAP: u64 = 256;

/// One float per block.
pub(super) struct Stored {
    pub(super) dtype: DType,
}

impl Factors for Stored {
    fn needs(&self, _: Range<u64>, blocks: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.push(numbers(ABSMAX, self.dtype, blocks));
    }

    fn fill(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()> {
        let mut scales = [0.0; GROUPS];
        let scales = &mut scales[..out.len()];
        let width = self.dtype.bits() as usize / 8;
        let start = offset_in(of.first_group, of.groups.start) * width;
        let bytes = &of.staged[0].bytes()[start..start + scales.len() * width];
        plain::numbers(self.dtype, bytes, scales);
        out.iter_mut().zip(scales).for_each(|(out, scale)| *out = factor(*scale));
        Ok(())
    }
}

/// One code per block, in blocks with one float each.
pub(super) struct Coded {
    pub(super) nested: Nested,
}

impl Factors for Coded {
    fn needs(&self, _: Range<u64>, blocks: Range<u64>, slabs: &mut Vec<Slab>) {
        let outer = blocks.start / self.nested.block..blocks.end.div_ceil(self.nested.block);
        slabs.push(numbers(ABSMAX, DType::U8, blocks));
        slabs.push(numbers(NESTED_ABSMAX, DType::F32, outer));
        slabs.push(numbers(NESTED_MAP, DType::F32, 0..MAP));
    }

    fn fill(&self, of: &RowGroups<'_>, out: &mut [Factor]) -> Result<()> {
        let &RowGroups { staged, first_group: first, ref groups, .. } = of;
        let [codes, scales, map] = [0, 1, 2].map(|index| staged[index].bytes());
        let single = |bytes: &[u8], index: usize| f32::from_le_bytes(bytes.as_chunks().0[index]);
        let codes = &codes[offset_in(first, groups.start)..];
        for ((block, &code), out) in groups.clone().zip(codes).zip(out) {
            let outer = offset_in(first / self.nested.block, block / self.nested.block);
            // Two roundings: fused, one in five results would differ.
            let product = single(map, code.into()) * single(scales, outer);
            *out = factor(product + self.nested.offset);
        }
        Ok(())
    }

    fn unsure(&self, of: &RowGroups<'_>, out: &mut [f32]) {
        let scales = of.staged[1].bytes().as_chunks().0;
        for (block, out) in of.groups.clone().zip(out) {
            let outer = offset_in(of.first_group / self.nested.block, block / self.nested.block);
            *out = HALF_GAP * f32::from_le_bytes(scales[outer]).abs();
        }
    }
}

/// Half of the widest gap of the map for nested codes, slightly rounded up.
const HALF_GAP: f32 = 0.0075;

fn factor(scale: f32) -> Factor {
    Factor { scale, offset: 0.0 }
}

/// Returns the slab with some numbers of a part.
fn numbers(part: usize, dtype: DType, range: Range<u64>) -> Slab {
    let width = u64::from(dtype.bits() / 8);
    Slab::whole(part, range.start * width, (range.end - range.start) * width)
}

fn offset_in(first: u64, index: u64) -> usize {
    usize::try_from(index - first).unwrap_or(usize::MAX)
}
