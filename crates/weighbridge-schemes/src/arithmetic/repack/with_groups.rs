//! A recipe whose codes can be had in groups of columns, as they are.

use std::ops::Range;

use crate::error::Result;
use crate::framework::{Coded, GroupedCodes};
use crate::framework::{Elements, Origins, Recipe};
use crate::number::Out;
use crate::source::{Slab, Staged};

/// A recipe, and how its codes lie.
pub struct WithGroups<R, G> {
    /// How they are decoded.
    pub recipe: R,
    /// How they lie.
    pub codes: G,
}

impl<R: Recipe, G: GroupedCodes> Recipe for WithGroups<R, G> {
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        self.recipe.needs(rows, slabs);
    }

    fn decode(&self, staged: &[Staged<'_>], rows: Range<u64>, out: Out<'_>) -> Result<()> {
        self.recipe.decode(staged, rows, out)
    }

    fn is_transposed(&self) -> bool {
        self.recipe.is_transposed()
    }

    fn elements(&self) -> Option<&dyn Elements> {
        self.recipe.elements()
    }

    fn origins(&self) -> Option<&dyn Origins> {
        self.recipe.origins()
    }

    fn coded(&self) -> Option<&dyn Coded> {
        self.recipe.coded()
    }

    fn grouped(&self) -> Option<&dyn GroupedCodes> {
        Some(&self.codes)
    }
}
