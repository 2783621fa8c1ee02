//! Weights whose codes are read as they are, to be stored by another scheme.

use std::collections::HashMap;
use std::ops::Range;

use super::{Model, Scratch, Weight};
use crate::error::{Error, Result};
use crate::schemes::{Beside, CodeKind, Coded, TensorId, plain};
use crate::source::Slab;

/// More numbers than there are factors of any weight.
const MOST_FACTORS: u64 = 1 << 16;

impl Weight {
    /// The kind of its codes, if they can be had as they are.
    pub(crate) fn code_kind(&self) -> Option<CodeKind> {
        self.with_recipe(|recipe| Ok(recipe.coded().map(Coded::kind))).unwrap_or(None)
    }

    /// Reads the codes and scales of some elements, which are whole groups.
    pub(crate) fn read_codes(
        &self,
        elements: Range<u64>,
        [codes, scales]: [&mut [u8]; 2],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let read = || {
            self.model().refuse_unlike_twins(self)?;
            self.with_recipe(|recipe| {
                let coded = recipe.coded().ok_or_else(|| Error::usage("it has no such codes"))?;
                scratch.slabs.clear();
                coded.needs(elements.clone(), &mut scratch.slabs);
                let staged = self.stage(scratch)?;
                coded.read(&staged, elements, codes, scales)
            })
        };
        read().map_err(|e| e.in_tensor(self.name()).in_file(self.model_path()))
    }

    /// Stored bytes that the codes of some elements need.
    pub(crate) fn staged_for_codes(&self, elements: Range<u64>) -> Result<u64> {
        self.with_recipe(|recipe| {
            let mut slabs = Vec::new();
            if let Some(coded) = recipe.coded() {
                coded.needs(elements, &mut slabs);
            }
            let bytes = slabs.iter().map(|slab| slab.row_bytes.saturating_mul(slab.count));
            Ok(bytes.fold(0, u64::saturating_add))
        })
    }

    /// What lies beside its codes and scales.
    pub(crate) fn beside_codes(&self) -> Beside {
        let beside = self.with_recipe(|recipe| Ok(recipe.coded().map(Coded::beside)));
        beside.unwrap_or(None).unwrap_or_default()
    }

    /// The factors of all of its numbers that lie beside its codes: one, or one for each matrix; none
    /// where it has no such part.
    pub(crate) fn factors_of_codes(&self) -> Result<Vec<f32>> {
        let Beside { factor, is_inverse, .. } = self.beside_codes();
        match factor.and_then(|index| self.part(index)) {
            Some(part) => self.model().factors(part.tensor, is_inverse),
            None => Ok(Vec::new()),
        }
    }
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
        let too_many = || Error::malformed("it has too many numbers").in_tensor(&info.name);
        let count = Some(info.elements()).filter(|count| *count <= MOST_FACTORS);
        let dtype = info.stored.element().filter(|dtype| dtype.is_float());
        let not_numbers = || Error::malformed("its numbers are no floats").in_tensor(&info.name);
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
