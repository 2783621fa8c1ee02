//! Four-bit floats whose codes and scales each lie one behind the other, row after row.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::framework::{
    CodeNumbers, Extract, Global, GroupedCodes, GroupedForm, Kind, Recipe, Taker,
};
use crate::source::{Slab, Staged};

/// Two codes a byte, the low nibble first, in part 0; a byte for the scale of each group in part 1.
#[derive(Clone, Copy, Debug)]
pub struct FlatCodes {
    /// What they are.
    pub form: GroupedForm,
    /// Whether it is no matrix.
    pub is_stack: bool,
    /// The factor of all of them.
    pub global: Option<Global>,
    /// What cannot take them, and why.
    pub kept_from: Option<(Taker, &'static str)>,
}

impl FlatCodes {
    /// Codes in a weight of that shape, so many with a scale of that type.
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

/// The first of what is staged.
pub(crate) fn first<'a>(staged: &[Staged<'a>]) -> Result<Staged<'a>> {
    staged.first().copied().ok_or_else(|| Error::usage("codes are not staged"))
}

/// Rows of so many bytes, as they are.
pub(crate) fn copy_rows(staged: &Staged<'_>, bytes: usize, out: &mut [u8]) {
    for (row, out) in out.chunks_exact_mut(bytes.max(1)).enumerate() {
        out.iter_mut().zip(staged.row(row)).for_each(|(out, byte)| *out = *byte);
    }
}

/// A recipe whose codes can be had as they are.
pub struct WithCodes<R, C> {
    /// How they are decoded.
    pub recipe: R,
    /// How they lie.
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
