//! Four-bit floats whose codes and scales are each contiguous, row after row.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::framework::{
    CodeNumbers, Extract, Global, GroupedCodes, GroupedForm, Kind, Recipe, Taker,
};
use crate::source::{Slab, Staged};

/// Codes in part 0, two per byte, the low nibble first; scales in part 1, one byte per group.
#[derive(Clone, Copy, Debug)]
pub struct FlatCodes {
    /// Form of the codes.
    pub form: GroupedForm,
    /// Whether it is a stack of matrices.
    pub is_stack: bool,
    /// The global scale.
    pub global: Option<Global>,
    /// A destination that cannot store them, and why.
    pub kept_from: Option<(Taker, &'static str)>,
}

impl FlatCodes {
    /// Creates the codes of a weight of that shape, with a scale of that type per group.
    pub fn new(shape: &[u64], (group, scale): (u64, DType), has_minus_zero: bool) -> Self {
        let columns = shape.last().copied().unwrap_or(1);
        let numbers = CodeNumbers::Floats { has_minus_zero };
        let rows = shape.iter().rev().skip(1).product();
        let form = GroupedForm { numbers, rows, columns, group, scale };
        Self { form, is_stack: shape.len() != 2, global: None, kept_from: None }
    }
}

impl GroupedCodes for FlatCodes {
    fn form(&self, taker: Taker) -> Result<GroupedForm, String> {
        match self.kept_from {
            Some((kept_from, reason)) if kept_from == taker => Err(reason.to_owned()),
            _ if self.is_stack && taker == Taker::Layout => {
                Err("stacks of matrices are not supported".to_owned())
            }
            _ => Ok(self.form),
        }
    }

    fn global(&self) -> Option<Global> {
        self.global
    }

    fn needs(&self, kind: Kind, Extract { rows, across }: &Extract, slabs: &mut Vec<Slab>) {
        let (part, stride, each) = match kind {
            Kind::Codes => (0, self.form.columns / 2, 2),
            Kind::Scales => (1, self.form.groups(), 1),
            Kind::Zeros => return,
        };
        slabs.push(Slab {
            part,
            offset: rows.start * stride + across.start / each,
            row_bytes: (across.end - across.start) / each,
            count: rows.end - rows.start,
            stride,
        });
    }

    fn read(&self, kind: Kind, of: &Extract, staged: &[Staged<'_>], out: &mut [u8]) -> Result<()> {
        if kind == Kind::Zeros {
            out.fill(0);
            return Ok(());
        }
        copy_rows(&first(staged)?, out.len() / of.sides()[0].max(1), out);
        Ok(())
    }
}

/// Returns the first staged slab.
pub(crate) fn first<'a>(staged: &[Staged<'a>]) -> Result<Staged<'a>> {
    staged.first().copied().ok_or_else(|| Error::usage("codes are not staged"))
}

/// Copies rows of `bytes` bytes.
pub(crate) fn copy_rows(staged: &Staged<'_>, bytes: usize, out: &mut [u8]) {
    for (row, out) in out.chunks_exact_mut(bytes.max(1)).enumerate() {
        out.iter_mut().zip(staged.row(row)).for_each(|(out, byte)| *out = *byte);
    }
}

/// A recipe whose codes can be read unchanged.
pub struct WithCodes<R, C> {
    /// Recipe for decoding.
    pub recipe: R,
    /// Access to the codes.
    pub codes: C,
}

impl<R: Recipe, C: GroupedCodes> Recipe for WithCodes<R, C> {
    fn inner(&self) -> Option<&dyn Recipe> {
        Some(&self.recipe)
    }

    fn codes(&self) -> Result<&dyn GroupedCodes, &'static str> {
        Ok(&self.codes)
    }
}
