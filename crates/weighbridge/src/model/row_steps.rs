//! Rows that are read together and decoded a few at a time.
//!
//! A few rows of a weight that is stored transposed are a few columns of the file: many short
//! pieces, with a read for each. Reading more rows at once makes the pieces longer.

use std::ops::Range;

use super::{Scratch, Weight};
use crate::error::{Error, Result};
use crate::schemes::Element;
use crate::source::{Slab, Staged};

/// Takes rows that were decoded.
pub(crate) type Each<'a, T> = &'a mut dyn FnMut(Range<u64>, &[T]) -> Result<()>;

impl Weight {
    /// Reads some rows together, decodes `step` of them at a time into `out`, and hands them on.
    pub(crate) fn decode_rows_in_steps<T: Element>(
        &self,
        rows: Range<u64>,
        step: u64,
        out: &mut Vec<T>,
        scratch: &mut Scratch,
        each: Each<'_, T>,
    ) -> Result<()> {
        let columns = self.rows_and_columns().1;
        let len = |rows: &Range<u64>| usize::try_from((rows.end - rows.start) * columns);
        let too_large = |_| Error::limit("the rows exceed this machine's address space");
        self.named(|| {
            self.with_recipe(|recipe| {
                scratch.slabs.clear();
                recipe.needs(self.elements_in(&rows), &mut scratch.slabs);
                let (all_slabs, staged) = self.stage_listed(scratch)?;
                let (mut slabs, mut at) = (Vec::new(), rows.start);
                while at < rows.end {
                    let some = at..at.saturating_add(step.max(1)).min(rows.end);
                    slabs.clear();
                    recipe.needs(self.elements_in(&some), &mut slabs);
                    let parts = parts_of(all_slabs, &staged, &slabs)
                        .ok_or_else(|| Error::usage("its recipe needs bytes that were not read"))?;
                    out.resize(len(&some).map_err(too_large)?, T::default());
                    recipe.decode(&parts, self.elements_in(&some), T::out(out))?;
                    each(some.clone(), out)?;
                    at = some.end;
                }
                Ok(())
            })
        })
    }
}

/// The staged bytes of some slabs, cut out of longer slabs that are staged; `None` if those do not
/// contain them.
pub(super) fn parts_of<'a>(
    all_slabs: &[Slab],
    staged: &[Staged<'a>],
    slabs: &[Slab],
) -> Option<smallvec::SmallVec<[Staged<'a>; 8]>> {
    if all_slabs.len() != slabs.len() {
        return None;
    }
    let part = |((whole, staged), slab): ((&Slab, &Staged<'a>), &Slab)| {
        let delta = slab.offset.checked_sub(whole.offset).filter(|_| slab.part == whole.part)?;
        // Either all from one piece, or from consecutive pieces with the same stride.
        let (piece, within, end) = if whole.count < 2 {
            (0, delta, slab.stride.checked_mul(slab.count.saturating_sub(1))?)
        } else {
            (delta / whole.stride.max(1), delta % whole.stride.max(1), 0)
        };
        let inside = within.checked_add(end)?.checked_add(slab.row_bytes)? <= whole.row_bytes;
        let among = whole.count < 2
            || slab.stride == whole.stride && piece.checked_add(slab.count)? <= whole.count
            || slab.count < 2 && piece < whole.count;
        let stride = (whole.count < 2).then_some(slab.stride);
        (inside && among).then(|| staged.cut([piece, within], slab.row_bytes, stride))?
    };
    all_slabs.iter().zip(staged).zip(slabs).map(part).collect()
}
