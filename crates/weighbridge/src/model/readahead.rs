//! Elements that are decoded a few at a time, from stored bytes that are read in one call.
//!
//! A few thousand numbers stay in the first cache while they are worked on; reads of so few bytes
//! would cost more than their decoding.

use std::ops::Range;

use super::row_steps::parts_of;
use super::weight::check_element_access;
use super::{Scratch, Weight};
use crate::error::Result;
use crate::schemes::{Element, Recipe};
use crate::source::{Slab, Staged};

/// The stored bytes of some elements of one weight.
#[derive(Default)]
pub(crate) struct Readahead {
    scratch: Scratch,
    /// Which elements they are for.
    buffered: Range<u64>,
    slabs: Vec<Slab>,
    /// Whether the buffered bytes cannot be split, so that every call reads its own.
    is_unsplittable: bool,
}

impl Readahead {
    /// Forgets the buffered elements: the next ones may be another weight's.
    pub(crate) fn forget(&mut self) {
        self.buffered = 0..0;
        self.is_unsplittable = false;
    }

    fn has(&self, elements: &Range<u64>) -> bool {
        self.buffered.start <= elements.start && elements.end <= self.buffered.end
    }
}

impl Weight {
    /// Decodes some elements, as [`Weight::decode_elements_with`] does, and reads those up to
    /// `until` with them, unless they are buffered.
    pub(crate) fn decode_elements_buffered<T: Element>(
        &self,
        elements: Range<u64>,
        until: u64,
        out: &mut [T],
        readahead: &mut Readahead,
    ) -> Result<()> {
        let until = until.min(self.elements());
        let is_good = elements.start <= elements.end && elements.end <= until;
        if readahead.is_unsplittable
            || !is_good
            || usize::try_from(elements.end - elements.start) != Ok(out.len())
        {
            return self.decode_elements_with(elements, out, &mut readahead.scratch);
        }
        let is_done = self.named(|| {
            self.with_recipe(|recipe| {
                check_element_access(recipe)?;
                readahead.slabs.clear();
                recipe.needs(elements.clone(), &mut readahead.slabs);
                if !readahead.has(&elements) {
                    readahead.buffered = 0..0;
                    readahead.scratch.slabs.clear();
                    recipe.needs(elements.start..until, &mut readahead.scratch.slabs);
                    if readahead.scratch.slabs.len() != readahead.slabs.len() {
                        return Ok(false);
                    }
                    self.stage_listed(&mut readahead.scratch)?;
                    readahead.buffered = elements.start..until;
                }
                let (slabs, staged) = self.staged_already(&readahead.scratch)?;
                match parts_of(slabs, &staged, &readahead.slabs) {
                    Some(parts) => {
                        recipe.decode(&parts, elements.clone(), T::out(out)).map(|()| true)
                    }
                    None => Ok(false),
                }
            })
        })?;
        if is_done {
            return Ok(());
        }
        readahead.is_unsplittable = true;
        self.decode_elements_with(elements, out, &mut readahead.scratch)
    }
}

impl Weight {
    /// Calls `look` with the stored bytes of some elements, if they are buffered.
    pub(super) fn with_buffered<R>(
        &self,
        recipe: &dyn Recipe,
        elements: &Range<u64>,
        readahead: &mut Readahead,
        look: impl FnOnce(&[Staged<'_>]) -> Result<R>,
    ) -> Option<Result<R>> {
        if readahead.is_unsplittable || elements.is_empty() || !readahead.has(elements) {
            return None;
        }
        readahead.slabs.clear();
        recipe.needs(elements.clone(), &mut readahead.slabs);
        let (slabs, staged) = self.staged_already(&readahead.scratch).ok()?;
        parts_of(slabs, &staged, &readahead.slabs).map(|parts| look(&parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    /// Every weight of a model, in short stretches, read ahead in longer ones.
    #[test]
    fn what_is_read_ahead_is_what_is_read() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut checked = 0;
        for path in ["tests/files/names/qwen3-q8/model.gguf", "tests/files/names/llama/hf"] {
            let access = [crate::FileAccess::Read, crate::FileAccess::Map];
            for access in access {
                let model = crate::OpenOptions::new().access(access).open(root.join(path)).unwrap();
                checked += compare(&model);
            }
        }
        assert!(checked > 40);
    }

    fn compare(model: &Model) -> usize {
        let mut readahead = Readahead::default();
        let weights = model.weights().filter(Weight::has_element_access);
        weights
            .inspect(|weight| {
                let mut wanted = vec![0f32; weight.len()];
                weight.decode_into(&mut wanted).unwrap();
                let mut found = vec![0f32; weight.len()];
                readahead.forget();
                let mut at = 0;
                for out in found.chunks_mut(96) {
                    let end = at + out.len() as u64;
                    weight
                        .decode_elements_buffered(at..end, at + 1000, out, &mut readahead)
                        .unwrap();
                    at = end;
                }
                assert_eq!(found, wanted, "{}", weight.name());
                assert!(!readahead.is_unsplittable, "{}", weight.name());
            })
            .count()
    }
}
