//! Weights whose codes and factors are read as they are, to be laid out in another way.

use std::collections::HashMap;

use super::weight::total;
use super::{Model, Scratch, Weight};
use crate::error::{Error, ErrorKind, Result};
use crate::schemes::{
    CodeNumbers, Extract, Global, GroupedCodes, GroupedForm, Kind, Recipe, Taker, TensorId, plain,
};
use crate::source::Slab;

/// More numbers than there are factors of any weight.
const MOST_FACTORS: u64 = 1 << 16;

/// Zero points that are looked at together.
const STEP: u64 = 1 << 18;

/// Rows of a step are whole words of zero points.
const ROWS: u64 = 32;

impl Weight {
    /// What its codes are; or why they cannot be moved there, as far as that is known without reading
    /// it.
    pub(crate) fn form_of_codes(&self, taker: Taker) -> Result<GroupedForm, String> {
        let form = self.with_recipe(|recipe| Ok(codes_of(recipe)?.form(taker)));
        form.unwrap_or_else(|error| Err(error.message().to_owned()))
    }

    /// Why its codes cannot be moved, as only its bytes tell.
    pub(crate) fn refuses_to_move(&self, scratch: &mut Scratch) -> Result<Option<String>> {
        let checked = self.with_codes(|codes| {
            let staged = self.stage(scratch, |slabs| codes.needs_for_check(slabs))?;
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
            self.read_codes(Kind::Zeros, &of, &mut points, scratch)?;
            for &point in &points {
                found = [found[0].min(point), found[1].max(point)];
            }
        }
        Ok(found)
    }

    /// Where the factor of all of its numbers is, if there is one besides the scales.
    pub(crate) fn global_of_codes(&self) -> Option<Global> {
        self.with_codes(|codes| Ok(codes.global())).unwrap_or(None)
    }

    /// The factors of all of its numbers that lie beside its codes: one, or one for each matrix; none
    /// where it has no such part. `inverts` gives one by each that scales are divided by.
    pub(crate) fn factors_of_codes(&self, inverts: bool) -> Result<Vec<f32>> {
        let global = self.global_of_codes();
        match global.and_then(|global| Some((self.part(global.part)?, global.divides))) {
            Some((part, divides)) => self.model().factors(part.tensor, divides && inverts),
            None => Ok(Vec::new()),
        }
    }

    /// Reads something of an extract of its codes, row by row.
    pub(crate) fn read_codes(
        &self,
        kind: Kind,
        of: &Extract,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.with_codes(|codes| {
            self.model().refuse_unlike_twins(self)?;
            let staged = self.stage(scratch, |slabs| codes.needs(kind, of, slabs))?;
            codes.read(kind, of, &staged, out)
        })
    }

    /// Stored bytes that each of some extracts needs.
    pub(crate) fn staged_for_codes<const N: usize>(
        &self,
        all: [(Kind, &Extract); N],
    ) -> Result<[u64; N]> {
        self.with_codes(|codes| {
            Ok(all.map(|(kind, of)| {
                let mut slabs = Vec::new();
                codes.needs(kind, of, &mut slabs);
                total(&slabs)
            }))
        })
    }

    fn with_codes<R>(&self, use_it: impl FnOnce(&dyn GroupedCodes) -> Result<R>) -> Result<R> {
        self.named(|| self.with_recipe(|recipe| use_it(codes_of(recipe)?)))
    }
}

fn codes_of(recipe: &dyn Recipe) -> Result<&dyn GroupedCodes> {
    recipe.codes().map_err(Error::unsupported)
}

impl Model {
    /// The tensors of that name in a module, by the module.
    pub(crate) fn beside_modules(&self, name: &str) -> HashMap<&str, TensorId> {
        let mut found = HashMap::new();
        for (source, of) in (0..).zip(self.sources()) {
            for (tensor, info) in (0..).zip(&of.catalog().tensors) {
                let module = info.name.strip_suffix(name).and_then(|m| m.strip_suffix('.'));
                if let Some(module) = module {
                    found.insert(module, TensorId { source, tensor });
                }
            }
        }
        found
    }

    /// The numbers of a small tensor, or one by each.
    pub(crate) fn factors(&self, tensor: TensorId, is_inverse: bool) -> Result<Vec<f32>> {
        let (source, info) = self.stored(tensor);
        let too_many = || Error::malformed("it has too many values").in_tensor(&info.name);
        let count = Some(info.elements()).filter(|count| *count <= MOST_FACTORS);
        let dtype = info.stored.element().filter(|dtype| dtype.is_float());
        let not_numbers =
            || Error::malformed("its values are not floating-point").in_tensor(&info.name);
        let dtype = dtype.ok_or_else(not_numbers)?;
        let mut numbers = vec![0.0; usize::try_from(count.ok_or_else(too_many)?).unwrap_or(0)];
        let mut bytes = Vec::new();
        let staged = source.fetch(info, &Slab::whole(0, 0, info.bytes), &mut bytes)?;
        plain::numbers(dtype, staged.bytes(), &mut numbers);
        if is_inverse {
            numbers.iter_mut().for_each(|number| *number = 1.0 / *number);
        }
        Ok(numbers)
    }
}
