//! Four-bit floats whose codes and scales each lie one behind the other, as they are.

use crate::error::{Error, Result};
use crate::framework::repack::first;
use crate::framework::{CodeKind, CodeNumbers, Extract, Global, GroupedCodes, GroupedForm, Kind};
use crate::source::{Slab, Staged};

/// Two codes a byte, the low nibble first, in part 0; a byte for the scale of each group in part 1.
#[derive(Clone, Debug)]
pub struct FlatGroups {
    /// What they are; or why they cannot be moved.
    pub form: Result<GroupedForm, String>,
    /// The factor of all of them.
    pub global: Option<Global>,
}

impl FlatGroups {
    /// Codes of a kind, in a matrix of that shape.
    pub fn new(
        kind: CodeKind,
        shape: &[u64],
        has_minus_zero: bool,
        global: Option<Global>,
    ) -> Self {
        let numbers = CodeNumbers::Floats { has_minus_zero };
        let form = match *shape {
            [rows, columns] if columns.is_multiple_of(kind.group.max(2)) => {
                Ok(GroupedForm { numbers, rows, columns, group: kind.group, scale: kind.scale })
            }
            [_, columns] => {
                Err(format!("its {columns} columns are not whole groups of {}", kind.group))
            }
            _ => Err("it is a stack of matrices".to_owned()),
        };
        Self { form, global }
    }

    /// The same, of which nothing can be moved for this reason.
    pub fn refused(self, reason: Option<&str>) -> Self {
        match reason {
            Some(reason) => Self { form: Err(reason.to_owned()), ..self },
            None => self,
        }
    }
}

impl GroupedCodes for FlatGroups {
    fn form(&self) -> Result<GroupedForm, String> {
        self.form.clone()
    }

    fn global(&self) -> Option<Global> {
        self.global
    }

    fn needs(&self, kind: Kind, of: &Extract, slabs: &mut Vec<Slab>) {
        let Ok(form) = &self.form else { return };
        let (part, row, ends) = match kind {
            Kind::Codes => (0, form.columns / 2, [of.across.start / 2, of.across.end / 2]),
            Kind::Scales => (1, form.groups(), [of.across.start, of.across.end]),
            Kind::Zeros => return,
        };
        let rows = &of.rows;
        slabs.push(Slab {
            part,
            offset: rows.start * row + ends[0],
            row_bytes: ends[1] - ends[0],
            count: rows.end - rows.start,
            stride: row,
        });
    }

    fn read(&self, kind: Kind, of: &Extract, staged: &[Staged<'_>], out: &mut [u8]) -> Result<()> {
        let [_, across] = of.sides();
        match kind {
            _ if across == 0 => {}
            Kind::Zeros => out.fill(0),
            Kind::Scales => {
                let staged = first(staged)?;
                for (row, out) in out.chunks_exact_mut(across).enumerate() {
                    out.iter_mut().zip(staged.row(row)).for_each(|(out, byte)| *out = *byte);
                }
            }
            Kind::Codes => {
                let staged = first(staged)?;
                for (row, out) in out.chunks_exact_mut(across).enumerate() {
                    let pairs = out.as_chunks_mut::<2>().0.iter_mut().zip(staged.row(row));
                    pairs.for_each(|(out, byte)| *out = [byte & 15, byte >> 4]);
                }
            }
        }
        self.form.as_ref().map(|_| ()).map_err(|reason| Error::unsupported(reason.clone()))
    }
}
