//! Bounds on the originals of a composed weight's numbers.

use super::block::{Block, To, each_piece, taken};
use super::{Composed, Stretch, length};
use crate::bounds::{Bounds, Candidates};
use crate::error::Result;
use crate::framework::{Origins, Portion, Rule};
use crate::source::Staged;

impl Composed {
    /// Whether bounds are known for all stretches.
    pub(super) fn has_origins(&self) -> bool {
        let mut stretches = self.stretches.iter();
        !self.stretches.is_empty() && stretches.all(|stretch| stretch.recipe.origins().is_some())
    }
}

impl Origins for Composed {
    fn rule(&self) -> Rule {
        let origins = self.stretches.first().and_then(|stretch| stretch.recipe.origins());
        origins.map_or(Rule::Bounded, Origins::rule)
    }

    fn bounds(&self, of: &Portion<'_>, _: &[f32], out: &mut [Bounds]) -> Result<()> {
        self.decode_as(of, out)
    }

    fn count_outside(&self, of: &Portion<'_>, candidates: Candidates<'_>) -> Result<Option<u64>> {
        let (mut rest, mut all) = (of.staged, Some(0));
        self.each_block(&of.elements, |stretch, block| {
            let Some(before) = all else { return Ok(()) };
            let (used, outside) = stretch.count_outside(block, rest, candidates)?;
            rest = rest.get(used..).unwrap_or_default();
            all = outside.map(|outside| before + outside);
            Ok(())
        })?;
        Ok(all)
    }
}

impl Stretch {
    /// Counts the candidates outside the bounds of a block, and the staged slabs that it used;
    /// `None` if its numbers are not those of the weight, row by row.
    fn count_outside(
        &self,
        block: &Block,
        staged: &[Staged<'_>],
        candidates: Candidates<'_>,
    ) -> Result<(usize, Option<u64>)> {
        let (Some(origins), &To::Rows { every }) = (self.recipe.origins(), &block.to) else {
            return Ok((0, None));
        };
        if self.view.changes_values() || !self.recipe.has_element_access() {
            return Ok((0, None));
        }
        let piece = length(block.piece);
        let part = |index: u64| {
            let at = block.at + length(index) * every;
            candidates.part(at..at + piece)
        };
        if !block.is_together() {
            let mut all = Some(0);
            let used = each_piece(&self.bands(block, &mut Vec::new()), staged, |bytes, index| {
                let Some(before) = all else { return Ok(()) };
                let start = block.first + index * block.step;
                let here = Portion { staged: bytes, elements: start..start + block.piece };
                let outside = origins.count_outside(&here, part(index))?;
                all = outside.map(|outside| before + outside);
                Ok(())
            })?;
            return Ok((used, all));
        }
        let (span, mut slabs) = (block.first..block.first + block.span(), Vec::new());
        self.recipe.needs(span.clone(), &mut slabs);
        let own = taken(staged, slabs.len())?;
        let of = Portion { staged: own, elements: span };
        if block.is_straight() {
            let all = candidates.part(block.at..block.at + length(block.span()));
            return Ok((own.len(), origins.count_outside(&of, all)?));
        }
        if block.step != block.piece {
            return Ok((0, None));
        }
        // In the order of the weight.
        let parts = || (0..block.count).map(part);
        let stored: Vec<f32> = parts().flat_map(|part| part.stored).copied().collect();
        let originals: Vec<f32> = parts().flat_map(|part| part.originals).copied().collect();
        let all = Candidates { stored: &stored, originals: &originals, ..candidates };
        Ok((own.len(), origins.count_outside(&of, all)?))
    }
}
