//! Weights that are stored transposed: many rows are read at once, and decoded a few at a time.
//!
//! A few rows of such a weight are a few columns of what is stored, many short pieces with a read
//! for each. A panel is as many rows as are worth reading together.

use std::ops::Range;

use super::{Scratch, Weight};
use crate::error::{Error, Result};
use crate::schemes::Element;
use crate::source::{Slab, Staged};

/// Takes rows that were decoded.
pub(crate) type Each<'a, T> = &'a mut dyn FnMut(Range<u64>, &[T]) -> Result<()>;

impl Weight {
    /// Reads some rows together, decodes `step` of them at a time into `out`, and hands them on.
    pub(crate) fn decode_panel<T: Element>(
        &self,
        rows: Range<u64>,
        step: u64,
        out: &mut Vec<T>,
        scratch: &mut Scratch,
        each: Each<'_, T>,
    ) -> Result<()> {
        let columns = self.rows_and_columns().1;
        let len = |rows: &Range<u64>| usize::try_from((rows.end - rows.start) * columns);
        let too_large = |_| Error::limit("rows are larger than this machine can address");
        let mut work = |scratch: &mut Scratch| {
            self.with_recipe(|recipe| {
                scratch.slabs.clear();
                recipe.needs(rows.clone(), &mut scratch.slabs);
                let (panel, staged) = self.stage_listed(scratch)?;
                let (mut slabs, mut at) = (Vec::new(), rows.start);
                while at < rows.end {
                    let some = at..at.saturating_add(step.max(1)).min(rows.end);
                    slabs.clear();
                    recipe.needs(some.clone(), &mut slabs);
                    let parts = parts_of(panel, &staged, &slabs).ok_or_else(|| {
                        Error::usage("its recipe asks for bytes outside of what was read")
                    })?;
                    out.resize(len(&some).map_err(too_large)?, T::default());
                    recipe.decode(&parts, some.clone(), T::out(out))?;
                    each(some.clone(), out)?;
                    at = some.end;
                }
                Ok(())
            })
        };
        work(scratch).map_err(|e| e.in_tensor(self.name()).in_file(self.model_path()))
    }
}

/// The staged bytes of some slabs, cut out of those of a panel; `None` if the panel does not hold
/// them.
pub(super) fn parts_of<'a>(
    panel: &[Slab],
    staged: &[Staged<'a>],
    slabs: &[Slab],
) -> Option<smallvec::SmallVec<[Staged<'a>; 8]>> {
    if panel.len() != slabs.len() {
        return None;
    }
    let part = |((whole, staged), slab): ((&Slab, &Staged<'a>), &Slab)| {
        let delta = slab.offset.checked_sub(whole.offset).filter(|_| slab.part == whole.part)?;
        // Pieces of one piece, or of as many that lie as far apart.
        let (piece, within, end) = match whole.count < 2 {
            true => (0, delta, slab.stride.checked_mul(slab.count.saturating_sub(1))?),
            false => (delta / whole.stride.max(1), delta % whole.stride.max(1), 0),
        };
        let inside = within.checked_add(end)?.checked_add(slab.row_bytes)? <= whole.row_bytes;
        let among = whole.count < 2
            || slab.stride == whole.stride && piece.checked_add(slab.count)? <= whole.count
            || slab.count < 2 && piece < whole.count;
        let stride = (whole.count < 2).then_some(slab.stride);
        (inside && among).then(|| staged.cut([piece, within], slab.row_bytes, stride))?
    };
    panel.iter().zip(staged).zip(slabs).map(part).collect()
}
