//! Weights whose codes and factors are read as they are, some rows and columns at a time, to be laid
//! out in another way.

use super::{Scratch, Weight};
use crate::error::{Error, ErrorKind, Result};
use crate::schemes::{CodeNumbers, Extract, GroupedCodes, GroupedForm, Kind, Recipe};
use crate::source::Slab;

/// Zero points that are looked at together.
const STEP: u64 = 1 << 18;

/// Rows of a step are whole words of zero points.
const ROWS: u64 = 32;

impl Weight {
    /// What its codes are; or why they cannot be moved, as far as that is known without reading it.
    pub(crate) fn grouped_form(&self) -> Result<GroupedForm, String> {
        let form = self.with_recipe(|recipe| Ok(grouped(recipe)?.form()));
        form.unwrap_or_else(|error| Err(error.message().to_owned()))
    }

    /// Why its codes cannot be moved, as only its bytes tell.
    pub(crate) fn refuses_to_move(&self, scratch: &mut Scratch) -> Result<Option<String>> {
        let checked = self.with_grouped(|codes| {
            scratch.slabs.clear();
            codes.needs_for_check(&mut scratch.slabs);
            let staged = self.stage(scratch)?;
            codes.check(&staged).map_err(Error::unsupported)
        });
        match checked {
            Ok(()) => Ok(None),
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                Ok(Some(error.message().to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    /// The lowest and the highest of its zero points.
    pub(crate) fn zero_points(&self, form: &GroupedForm, scratch: &mut Scratch) -> Result<[u8; 2]> {
        if !matches!(form.numbers, CodeNumbers::Integers { has_zeros: true, .. }) {
            return Ok([form.middle(); 2]);
        }
        let (mut found, mut points) = ([u8::MAX, 0], Vec::new());
        let step = (STEP / form.groups().max(1)).next_multiple_of(ROWS);
        for start in (0..form.rows).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            let rows = start..form.rows.min(start + step);
            let of = Extract { rows, across: 0..form.groups() };
            let [rows, groups] = of.sides();
            points.resize(rows.saturating_mul(groups), 0);
            self.read_grouped(Kind::Zeros, &of, &mut points, scratch)?;
            for &point in &points {
                found = [found[0].min(point), found[1].max(point)];
            }
        }
        Ok(found)
    }

    /// The factor of all of its numbers, and whether scales are divided by it.
    pub(crate) fn global_of_codes(&self) -> Result<Option<(f32, bool)>> {
        let Some(global) = self.with_grouped(|codes| Ok(codes.global()))? else { return Ok(None) };
        let Some(part) = self.part(global.part) else { return Ok(None) };
        let numbers = self.model().factors(part.tensor, false)?;
        Ok(<[f32; 1]>::try_from(numbers).ok().map(|[factor]| (factor, global.divides)))
    }

    /// Reads something of an extract of its codes, row by row.
    pub(crate) fn read_grouped(
        &self,
        kind: Kind,
        of: &Extract,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.with_grouped(|codes| {
            self.model().refuse_unlike_twins(self)?;
            scratch.slabs.clear();
            codes.needs(kind, of, &mut scratch.slabs);
            let staged = self.stage(scratch)?;
            codes.read(kind, of, &staged, out)
        })
    }

    /// Stored bytes that the largest of some extracts needs.
    pub(crate) fn staged_for_grouped(&self, all: &[(Kind, &Extract)]) -> Result<u64> {
        self.with_grouped(|codes| {
            let bytes = all.iter().map(|(kind, of)| {
                let mut slabs = Vec::new();
                codes.needs(*kind, of, &mut slabs);
                let of = |slab: &Slab| slab.row_bytes.saturating_mul(slab.count);
                slabs.iter().map(of).fold(0, u64::saturating_add)
            });
            // Buffers are kept, so that each may be as large as it ever was.
            Ok(bytes.max().unwrap_or(0))
        })
    }

    fn with_grouped<R>(&self, use_it: impl FnOnce(&dyn GroupedCodes) -> Result<R>) -> Result<R> {
        let done = self.with_recipe(|recipe| use_it(grouped(recipe)?));
        done.map_err(|error| error.in_tensor(self.name()).in_file(self.model_path()))
    }
}

fn grouped(recipe: &dyn Recipe) -> Result<&dyn GroupedCodes> {
    let none = || Error::unsupported("it is stored in a way that no other layout holds as it is");
    recipe.grouped().ok_or_else(none)
}
