//! Where the originals of a weight's numbers may have been, and numbers with all of their digits.

use std::ops::Range;

use super::{Readahead, Scratch, Weight};
use crate::bounds::{Bounds, Candidates};
use crate::compare::Wide;
use crate::error::{Error, Result};
use crate::schemes::{Origins, Out, Portion, Recipe, Rule};
use crate::source::Staged;

impl Weight {
    /// What must hold between the weight and its original; `None` where that is not known.
    pub(crate) fn origin_rule(&self) -> Option<Rule> {
        self.with_recipe(|recipe| Ok(recipe.origins().map(Origins::rule))).ok()?
    }

    /// The bounds of some elements: of whole rows, where only those can be decoded. `values`
    /// receives the stored numbers.
    pub(crate) fn bounds(
        &self,
        elements: &Range<u64>,
        values: &mut Vec<f32>,
        out: &mut [Bounds],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.with_staged(elements, scratch, |recipe, staged| {
            let origins = recipe.origins().ok_or_else(no_bounds)?;
            self.decode_singles(recipe, staged, elements, values)?;
            origins.bounds(&Portion { staged, elements: elements.clone() }, values, out)
        })
    }

    /// Some elements with all of their digits: whole rows, where only those can be decoded.
    pub(crate) fn decode_wide(
        &self,
        elements: &Range<u64>,
        singles: &mut Vec<f32>,
        out: &mut [Wide],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.with_staged(elements, scratch, |recipe, staged| {
            let of = Portion { staged, elements: elements.clone() };
            if !(recipe.has_element_access() && recipe.decode_wide(&of, out)?) {
                self.decode_singles(recipe, staged, elements, singles)?;
                out.iter_mut().zip(singles).for_each(|(out, one)| *out = f64::from(*one).into());
            }
            Ok(())
        })
    }

    /// How many candidates lie outside the bounds of some elements, whose numbers are decoded
    /// already; `None` where only the bounds themselves can tell.
    pub(crate) fn count_outside(
        &self,
        elements: Range<u64>,
        candidates: Candidates<'_>,
        (scratch, readahead): (&mut Scratch, &mut Readahead),
    ) -> Result<Option<u64>> {
        self.named(|| {
            self.with_recipe(|recipe| {
                let origins = recipe.origins().filter(|_| recipe.has_element_access());
                let Some(origins) = origins else { return Ok(None) };
                let look = |staged: &[Staged<'_>]| {
                    let of = Portion { staged, elements: elements.clone() };
                    origins.count_outside(&of, candidates)
                };
                if let Some(counted) = self.with_buffered(recipe, &elements, readahead, look) {
                    return counted;
                }
                look(&self.stage(scratch, |slabs| recipe.needs(elements.clone(), slabs))?)
            })
        })
    }

    /// Calls `use_it` with the stored bytes of some elements.
    fn with_staged(
        &self,
        elements: &Range<u64>,
        scratch: &mut Scratch,
        use_it: impl FnOnce(&dyn Recipe, &[Staged<'_>]) -> Result<()>,
    ) -> Result<()> {
        let columns = self.rows_and_columns().1;
        self.named(|| {
            self.with_recipe(|recipe| {
                let elements = recipe.around(elements, columns);
                let staged = self.stage(scratch, |slabs| recipe.needs(elements, slabs))?;
                use_it(recipe, &staged)
            })
        })
    }

    fn decode_singles(
        &self,
        recipe: &dyn Recipe,
        staged: &[Staged<'_>],
        elements: &Range<u64>,
        singles: &mut Vec<f32>,
    ) -> Result<()> {
        singles.resize(usize::try_from(elements.end - elements.start).unwrap_or(usize::MAX), 0.0);
        recipe.decode(staged, elements.clone(), Out::F32(singles))
    }
}

fn no_bounds() -> Error {
    Error::usage("no error bounds are known for its scheme")
}
