//! Where the originals of a weight's numbers may have been.

use std::ops::Range;

use super::{Readahead, Scratch, Weight};
use crate::bounds::{Bounds, Candidates, Gaps, Levels, Slack};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::schemes::{Origins, Out, Rule};
use crate::source::Staged;

impl Weight {
    /// What must hold between the weight and its original; `None` where that is not known, or where
    /// it is stored as numbers of its own type.
    pub(crate) fn origin_rule(&self) -> Option<Rule> {
        self.with_recipe(|recipe| Ok(recipe.origins().map(Origins::rule))).ok()?
    }

    /// The bounds of some elements: of whole rows, where only those can be decoded. `values`
    /// receives the stored numbers.
    pub(crate) fn bounds(
        &self,
        elements: Range<u64>,
        values: &mut Vec<f32>,
        out: &mut [Bounds],
        scratch: &mut Scratch,
    ) -> Result<()> {
        values.resize(out.len(), 0.0);
        if self.is_plain() {
            self.decode_elements_with(elements, values, scratch)?;
            let levels = self.native().and_then(levels_of_floats).ok_or_else(no_bounds)?;
            levels.fill(values, out);
            return Ok(());
        }
        let mut fill = |scratch: &mut Scratch| {
            self.with_recipe(|recipe| {
                let origins = recipe.origins().ok_or_else(no_bounds)?;
                let columns = self.rows_and_columns().1.max(1);
                let rows = elements.start / columns..elements.end / columns;
                scratch.slabs.clear();
                match recipe.elements() {
                    Some(by_elements) => by_elements.needs(elements.clone(), &mut scratch.slabs),
                    None => recipe.needs(rows.clone(), &mut scratch.slabs),
                }
                let staged = self.stage(scratch)?;
                match recipe.elements() {
                    Some(by_elements) => {
                        by_elements.decode(&staged, elements.clone(), Out::F32(values))?;
                    }
                    None => recipe.decode(&staged, rows, Out::F32(values))?,
                }
                origins.bounds(&staged, elements.clone(), values, out)
            })
        };
        fill(scratch).map_err(|e| e.in_tensor(self.name()).in_file(self.model_path()))
    }

    /// How many candidates lie outside the bounds of some elements, whose numbers are decoded
    /// already; `None` where only the bounds themselves can tell.
    pub(crate) fn count_outside(
        &self,
        elements: Range<u64>,
        candidates: Candidates<'_>,
        (scratch, readahead): (&mut Scratch, &mut Readahead),
    ) -> Result<Option<u64>> {
        if self.is_plain() {
            return Ok(None);
        }
        let mut count = || {
            self.with_recipe(|recipe| {
                let (Some(origins), Some(by_elements)) = (recipe.origins(), recipe.elements())
                else {
                    return Ok(None);
                };
                let look = |staged: &[Staged<'_>]| {
                    origins.count_outside(staged, elements.clone(), candidates)
                };
                if let Some(counted) = self.with_buffered(by_elements, &elements, readahead, look) {
                    return counted;
                }
                scratch.slabs.clear();
                by_elements.needs(elements.clone(), &mut scratch.slabs);
                look(&self.stage(scratch)?)
            })
        };
        count().map_err(|e| e.in_tensor(self.name()).in_file(self.model_path()))
    }
}

fn no_bounds() -> Error {
    Error::usage("it is not known where the originals of its numbers may have been")
}

/// The levels of a floating-point type.
fn levels_of_floats(dtype: DType) -> Option<Levels<'static>> {
    let (digits, smallest_normal, highest, beyond) = match dtype {
        DType::BF16 => (7, f32::MIN_POSITIVE, f32::MAX, f32::MAX / 2048.0),
        DType::F16 => (10, 1.0 / 16384.0, 65504.0, 65504.0 / 2048.0),
        // What is too large for eight bits is often cast to the largest number.
        DType::F8_E4M3 => (3, 1.0 / 64.0, 448.0, f32::INFINITY),
        DType::F8_E5M2 => (2, 1.0 / 16384.0, 57344.0, f32::INFINITY),
        _ => return None,
    };
    Some(Levels {
        gaps: Gaps::Floats { scale: 1.0, digits, smallest_normal },
        zero: 0.0,
        lowest: -highest,
        highest,
        beyond,
        slack: Slack::default(),
    })
}
