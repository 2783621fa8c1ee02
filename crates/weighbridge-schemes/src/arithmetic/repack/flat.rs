//! Codes and scales that each lie one behind the other, row after row.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::framework::{Beside, CodeKind, Coded, Elements, Origins, Recipe};
use crate::number::Out;
use crate::source::{Slab, Staged};

/// Two codes a byte, the low nibble first, in part 0; a byte for the scale of each group in part 1.
#[derive(Clone, Copy, Debug)]
pub struct FlatCodes {
    /// What kind they are.
    pub kind: CodeKind,
    /// What lies beside them.
    pub beside: Beside,
}

impl Coded for FlatCodes {
    fn kind(&self) -> CodeKind {
        self.kind
    }

    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        for (part, each) in [(0, 2), (1, self.kind.group)] {
            let bytes = elements.start / each..elements.end / each;
            slabs.push(Slab::whole(part, bytes.start, bytes.end - bytes.start));
        }
    }

    fn read(
        &self,
        staged: &[Staged<'_>],
        _: Range<u64>,
        codes: &mut [u8],
        scales: &mut [u8],
    ) -> Result<()> {
        for (index, out) in [codes, scales].into_iter().enumerate() {
            let bytes = staged.get(index).map(Staged::bytes).unwrap_or_default();
            let bytes = bytes.get(..out.len());
            out.copy_from_slice(bytes.ok_or_else(|| Error::usage("codes are not staged"))?);
        }
        Ok(())
    }

    fn beside(&self) -> Beside {
        self.beside
    }
}

/// A recipe whose codes can be had as they are.
pub struct WithCodes<R> {
    /// How they are decoded.
    pub recipe: R,
    /// How they lie.
    pub codes: FlatCodes,
}

impl<R: Recipe> Recipe for WithCodes<R> {
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
        Some(&self.codes)
    }
}
