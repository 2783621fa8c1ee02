//! Exposes packed integers in groups of columns.

use super::factors::Zero;
use super::layout::{Cells, Columns, Kind as Codes, Layout, ZeroKind};
use super::stated;
use crate::arithmetic::{copy_rows, first};
use crate::catalog::Shape;
use crate::dtype::DType;
use crate::error::Result;
use crate::framework::{Extract, GroupedCodes, GroupedForm, Kind, Part, Taker};
use crate::source::{Slab, Staged};

/// Codes in words, with one scale per group of a row.
pub(super) struct PackedGroups {
    form: Result<GroupedForm, String>,
    /// Stored bytes per row of codes.
    row_bytes: u64,
    scales: usize,
    zeros: Zero,
    /// The list of groups, which must be in order.
    order: Option<usize>,
    /// The part that states the weight's dimensions, its type, and the expected dimensions.
    stated: Option<(usize, DType, Shape)>,
}

impl PackedGroups {
    /// Creates the codes of a layout whose tensors are `parts`. `keeps_activations` is whether
    /// activations are not quantized; other layouts could not state that they are.
    pub(super) fn of(layout: &Layout, parts: &[Part], zero: Zero, keeps_activations: bool) -> Self {
        let part = |role: &str| parts.iter().position(|part| part.role == role).unwrap_or(0);
        let (columns, rows) = (layout.columns(), layout.rows());
        let form = match (layout.codes, layout.cells) {
            _ if !keeps_activations => Err(ACTIVATIONS.to_owned()),
            _ if layout.shape.len() != 2 => Err("stacks of matrices are not supported".to_owned()),
            (Codes::Packed(bits, _), Cells::Rows { group, .. }) => {
                let codes = (bits, layout.zero != ZeroKind::None);
                GroupedForm::of_integers(codes, [rows, columns, group], layout.scale)
            }
            (Codes::Packed(..), _) => Err("it has one scale for all rows".to_owned()),
            _ => Err("its codes are not integers packed in words".to_owned()),
        };
        Self {
            form,
            row_bytes: layout.row_bytes,
            scales: part("scale"),
            zeros: zero,
            order: (layout.order == Columns::Listed).then(|| part("group index")),
            stated: layout.stated.map(|dtype| (part("shape"), dtype, layout.shape.clone())),
        }
    }

    fn sides(&self) -> Result<GroupedForm, crate::error::Error> {
        self.form.clone().map_err(crate::error::Error::unsupported)
    }
}

/// Reason for weights whose activations are quantized too.
pub(super) const ACTIVATIONS: &str = "its activations are quantized too, which other layouts \
                                      cannot express";

impl GroupedCodes for PackedGroups {
    fn form(&self, _: Taker) -> Result<GroupedForm, String> {
        self.form.clone()
    }

    fn needs_for_check(&self, slabs: &mut Vec<Slab>) {
        let Ok(form) = &self.form else { return };
        if let Some(part) = self.order {
            slabs.push(Slab::whole(part, 0, form.columns * 4));
        }
        if let Some((part, dtype, shape)) = &self.stated {
            let bytes = shape.len() as u64 * u64::from(dtype.bits() / 8);
            slabs.push(Slab::whole(*part, 0, bytes));
        }
    }

    fn check(&self, staged: &[Staged<'_>]) -> Result<(), String> {
        let mut staged = staged.iter();
        if let (Some(_), Some(listed), Ok(form)) =
            (self.order, self.order.and(staged.next()), &self.form)
        {
            let listed =
                listed.bytes().as_chunks::<4>().0.iter().map(|one| i32::from_le_bytes(*one));
            // A list that was never set is ignored.
            let is_unset = listed.clone().any(|group| group == -1);
            let in_order = (0..).zip(listed).all(|(column, group)| {
                u64::try_from(group).is_ok_and(|group| group == column / form.group.max(1))
            });
            refuse_if!(
                !is_unset && !in_order,
                "it uses act-order groups, which other layouts cannot store"
            );
        }
        match (&self.stated, staged.next()) {
            (Some((_, dtype, shape)), Some(bytes)) => match stated::sides(*dtype, bytes.bytes())? {
                sides if sides == *shape => Ok(()),
                sides => Err(format!("weight_shape is {sides:?}, but its tensors have {shape:?}")),
            },
            _ => Ok(()),
        }
    }

    fn needs(&self, kind: Kind, of: &Extract, slabs: &mut Vec<Slab>) {
        let Ok(form) = &self.form else { return };
        let Extract { rows, across } = of;
        let strip = |part: usize, row_bytes: u64, [from, to]: [u64; 2]| Slab {
            part,
            offset: rows.start * row_bytes + from,
            row_bytes: to - from,
            count: rows.end - rows.start,
            stride: row_bytes,
        };
        let ends = [across.start, across.end];
        slabs.push(match (kind, &self.zeros) {
            (Kind::Codes, _) => {
                strip(0, self.row_bytes, ends.map(|end| end * u64::from(form.bits()) / 8))
            }
            (Kind::Scales, _) => {
                let width = form.scale_bytes();
                strip(self.scales, form.groups() * width, ends.map(|end| end * width))
            }
            (Kind::Zeros, Zero::Plain(grid)) => strip(grid.part, form.groups(), ends),
            (Kind::Zeros, Zero::Packed(zeros)) => zeros.slab(rows),
            (Kind::Zeros, Zero::None | Zero::Floats(_)) => return,
        });
    }

    fn read(&self, kind: Kind, of: &Extract, staged: &[Staged<'_>], out: &mut [u8]) -> Result<()> {
        let (form, [_, across]) = (self.sides()?, of.sides());
        if across == 0 {
            return Ok(());
        }
        let width = usize::try_from(form.scale_bytes()).unwrap_or(1);
        match (kind, &self.zeros) {
            (Kind::Codes, _) => {
                let staged = first(staged)?;
                for (row, out) in out.chunks_exact_mut(across).enumerate() {
                    unpack(form.bits(), staged.row(row), out);
                }
            }
            (Kind::Scales, _) => copy_rows(&first(staged)?, across * width, out),
            (Kind::Zeros, Zero::None | Zero::Floats(_)) => out.fill(form.middle()),
            (Kind::Zeros, Zero::Plain(_)) => {
                copy_rows(&first(staged)?, across, out);
                // They are signed, and codes are not.
                out.iter_mut().for_each(|zero| *zero = zero.wrapping_add(form.middle()));
            }
            (Kind::Zeros, Zero::Packed(zeros)) => {
                let staged = first(staged)?;
                for (row, out) in of.rows.clone().zip(out.chunks_exact_mut(across)) {
                    for (group, out) in of.across.clone().zip(out) {
                        *out = zeros.code(staged.bytes(), of.rows.start, row, group);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Unpacks the codes of a row, one byte each.
fn unpack(bits: u32, packed: &[u8], out: &mut [u8]) {
    match bits {
        8 => out.iter_mut().zip(packed).for_each(|(out, code)| *out = *code),
        _ => {
            for (out, pair) in out.chunks_mut(2).zip(packed) {
                out.iter_mut().zip([pair & 15, pair >> 4]).for_each(|(out, code)| *out = code);
            }
        }
    }
}
