//! One logical weight and its way to numbers.

use std::ops::Range;

use super::Model;
use crate::catalog::TensorInfo;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::schemes::{Element, Entry, Part, Recipe, TensorId, plain};
use crate::source::{Slab, Source, Staged};

/// A logical weight, whatever it is made of.
#[derive(Clone, Copy)]
pub struct Weight<'m> {
    model: &'m Model,
    entry: &'m Entry,
}

/// Buffers that decoding needs, kept from one call to the next.
#[derive(Default)]
pub struct Scratch {
    slabs: Vec<Slab>,
    buffers: Vec<Vec<u8>>,
}

impl<'m> Weight<'m> {
    pub(super) fn new(model: &'m Model, entry: &'m Entry) -> Self {
        Self { model, entry }
    }

    /// The stored tensor of a plain weight.
    fn info(id: TensorId, model: &'m Model) -> &'m TensorInfo {
        model.stored(id).1
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'m str {
        match self.entry {
            Entry::Plain(id) => &Self::info(*id, self.model).name,
            Entry::Scheme(_, bid) => &bid.name,
        }
    }

    /// Its logical shape, outermost dimension first.
    #[must_use]
    pub fn shape(&self) -> &'m [u64] {
        match self.entry {
            Entry::Plain(id) => &Self::info(*id, self.model).shape,
            Entry::Scheme(_, bid) => &bid.shape,
        }
    }

    /// The scheme it is stored in: `plain`, `gptq`, ..
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        match self.entry {
            Entry::Plain(_) => plain::NAME,
            Entry::Scheme(name, _) => name,
        }
    }

    /// The kind within the scheme; of a plain weight, its stored type.
    #[must_use]
    pub fn variant(&self) -> &'m str {
        match self.entry {
            Entry::Plain(id) => Self::info(*id, self.model).stored.name(),
            Entry::Scheme(_, bid) => &bid.variant,
        }
    }

    /// The type its canonical library decodes it to; `None` when that is not known.
    #[must_use]
    pub fn native(&self) -> Option<DType> {
        match self.entry {
            Entry::Plain(id) => Self::info(*id, self.model).stored.element(),
            Entry::Scheme(_, bid) => bid.native,
        }
    }

    /// Why it cannot be decoded, where it cannot.
    #[must_use]
    pub fn undecodable(&self) -> Option<String> {
        let refused =
            || self.parts().find_map(|(_, _, info)| info.refused.as_deref().map(str::to_owned));
        let reason = match self.entry {
            Entry::Plain(id) => plain::recipe(Self::info(*id, self.model)).err(),
            Entry::Scheme(_, bid) => bid.recipe.as_ref().err().map(ToString::to_string),
        };
        refused().or(reason)
    }

    /// Its logical elements.
    #[must_use]
    pub fn elements(&self) -> u64 {
        crate::catalog::element_count(self.shape()).unwrap_or(0)
    }

    /// Its logical elements, as the length of a buffer for it.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.elements()).unwrap_or(usize::MAX)
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements() == 0
    }

    /// Outermost dimension, and elements in each of its rows. A scalar is one row of one.
    #[must_use]
    pub fn rows_and_columns(&self) -> (u64, u64) {
        match self.shape() {
            [] => (1, 1),
            shape => (shape[0], plain::columns(shape)),
        }
    }

    /// The stored tensors it is made of: role, source, tensor.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &'m Source, &'m TensorInfo)> {
        let model = self.model;
        (0..).map_while(move |index| self.part(index)).map(move |part| {
            let (source, info) = model.stored(part.tensor);
            (part.role, source, info)
        })
    }

    fn part(&self, index: usize) -> Option<Part> {
        match self.entry {
            Entry::Plain(id) => (index == 0).then_some(Part { role: "weight", tensor: *id }),
            Entry::Scheme(_, bid) => bid.parts.get(index).copied(),
        }
    }

    /// All bytes that make it up, scales included.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.parts().map(|(_, _, info)| info.bytes).fold(0, u64::saturating_add)
    }

    /// Its bytes without a copy, where it is plain and its file is mapped or in memory.
    #[must_use]
    pub fn bytes(&self) -> Option<&'m [u8]> {
        let (_, source, info) = self.parts().next().filter(|_| self.scheme() == plain::NAME)?;
        source.image(info)
    }

    /// Decodes all of it; the slice's type chooses `f32`, `bf16` or `f16`.
    pub fn decode_into<T: Element>(&self, out: &mut [T]) -> Result<()> {
        self.decode_rows(0..self.rows_and_columns().0, out)
    }

    /// Decodes some rows of the outermost dimension.
    pub fn decode_rows<T: Element>(&self, rows: Range<u64>, out: &mut [T]) -> Result<()> {
        self.decode_rows_with(rows, out, &mut Scratch::default())
    }

    /// The same with buffers that are kept: no allocation once they have grown.
    pub fn decode_rows_with<T: Element>(
        &self,
        rows: Range<u64>,
        out: &mut [T],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.decode_inner(rows, out, scratch)
            .map_err(|e| e.in_tensor(self.name()).in_file(self.model.path()))
    }

    fn decode_inner<T: Element>(
        &self,
        rows: Range<u64>,
        out: &mut [T],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let plain_recipe;
        let recipe: &dyn Recipe = match self.entry {
            Entry::Plain(id) => {
                plain_recipe =
                    plain::recipe(Self::info(*id, self.model)).map_err(Error::unsupported)?;
                &plain_recipe
            }
            Entry::Scheme(_, bid) => match &bid.recipe {
                Ok(recipe) => &**recipe,
                Err(reason) => return Err(Error::unsupported(reason.to_string())),
            },
        };
        self.check_buffer(&rows, out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        // What was refused may have a shape that its bytes do not bear out: no place in it counts.
        for (_, source, info) in self.parts() {
            source.check_readable(info)?;
        }
        scratch.slabs.clear();
        recipe.needs(rows.clone(), &mut scratch.slabs);
        scratch.buffers.resize_with(scratch.buffers.len().max(scratch.slabs.len()), Vec::new);
        let mut staged = smallvec::SmallVec::<[Staged<'_>; 8]>::new();
        for (slab, buffer) in scratch.slabs.iter().zip(&mut scratch.buffers) {
            let part = self.part(slab.part);
            let part =
                part.ok_or_else(|| Error::usage("the recipe asks for a part that is not there"))?;
            let (source, info) = self.model.stored(part.tensor);
            staged.push(source.fetch(info, slab, buffer)?);
        }
        recipe.decode(&staged, rows, T::out(out))
    }

    fn check_buffer(&self, rows: &Range<u64>, len: usize) -> Result<()> {
        let (all, columns) = self.rows_and_columns();
        if rows.start > rows.end || rows.end > all {
            return Err(Error::usage(format!("rows {rows:?} are asked for, there are {all}")));
        }
        let wanted = (rows.end - rows.start).checked_mul(columns);
        if wanted != Some(len as u64) {
            return Err(Error::usage(format!(
                "rows {rows:?} of {columns} elements do not fill a buffer of {len}"
            )));
        }
        Ok(())
    }
}
