//! One logical weight and its way to numbers.

use std::fmt;
use std::ops::Range;

use super::Model;
use crate::catalog::TensorInfo;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::schemes::{Element, Entry, PLAIN, Part, Recipe, TensorId, plain};
use crate::source::{Access, Slab, Source, Staged, Wanted, fetch_all};

/// A logical weight of a model, plain or quantized.
///
/// A `Weight` is a cheap handle that keeps its model open.
///
/// ```no_run
/// let model = weighbridge::Model::open("Qwen3-8B-GPTQ/")?;
/// let weight = model.weight("model.layers.0.mlp.up_proj.weight")?;
/// let values: Vec<f32> = weight.decode_to_vec()?;
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone)]
pub struct Weight {
    model: Model,
    index: usize,
}

impl fmt::Debug for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Weight")
            .field("name", &self.name())
            .field("shape", &self.shape())
            .field("scheme", &format_args!("{}/{}", self.scheme(), self.variant()))
            .finish_non_exhaustive()
    }
}

/// Reusable buffers for decoding.
#[derive(Default)]
pub struct Scratch {
    pub(super) slabs: Vec<Slab>,
    buffers: Vec<Vec<u8>>,
}

/// The bytes of some slabs.
type StagedParts<'a> = smallvec::SmallVec<[Staged<'a>; 8]>;

impl Weight {
    pub(super) fn new(model: Model, index: usize) -> Self {
        Self { model, index }
    }

    /// The stored tensor of a plain weight.
    pub(super) fn info(&self, id: TensorId) -> &TensorInfo {
        self.model.stored(id).1
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.model.name_at(self.index)
    }

    /// Its logical shape, outermost dimension first.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        match self.entry() {
            Entry::Plain(id) => self.model.original_shape(*id).unwrap_or(&self.info(*id).shape),
            Entry::Scheme(_, bid) => &bid.shape,
        }
    }

    /// Its storage scheme: `plain`, `gptq`, ..
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        match self.entry() {
            Entry::Plain(_) => PLAIN,
            Entry::Scheme(name, _) => name,
        }
    }

    /// Whether it is stored unquantized.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.entry(), Entry::Plain(_))
    }

    /// The variant of its scheme; for a plain weight, its stored type.
    #[must_use]
    pub fn variant(&self) -> &str {
        match self.entry() {
            Entry::Plain(id) => self.info(*id).stored.name(),
            Entry::Scheme(_, bid) => &bid.variant,
        }
    }

    /// The type that the scheme's own library decodes it to; `None` if unknown.
    #[must_use]
    pub fn native(&self) -> Option<DType> {
        match self.entry() {
            Entry::Plain(id) => self.info(*id).stored.element(),
            Entry::Scheme(_, bid) => bid.native,
        }
    }

    /// The reason why it cannot be decoded; `None` if it can.
    #[must_use]
    pub fn undecodable(&self) -> Option<String> {
        let refused =
            || self.parts().find_map(|(_, _, info)| info.refused.as_deref().map(str::to_owned));
        let reason = match self.entry() {
            Entry::Plain(id) => plain::recipe(self.info(*id)).err(),
            Entry::Scheme(_, bid) => bid.recipe.as_ref().err().map(ToString::to_string),
        };
        refused().or(reason)
    }

    /// The number of its elements.
    #[must_use]
    pub fn elements(&self) -> u64 {
        crate::catalog::element_count(self.shape()).unwrap_or(0)
    }

    /// The number of its elements, as the length of a buffer.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::try_from(self.elements()).unwrap_or(usize::MAX)
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements() == 0
    }

    /// The size of the outermost dimension, and the elements per row. A scalar is one row of one.
    #[must_use]
    pub fn rows_and_columns(&self) -> (u64, u64) {
        match self.shape() {
            [] => (1, 1),
            shape => (shape[0], plain::columns(shape)),
        }
    }

    /// The elements of some rows.
    pub(super) fn elements_in(&self, rows: &Range<u64>) -> Range<u64> {
        let columns = self.rows_and_columns().1;
        rows.start.saturating_mul(columns)..rows.end.saturating_mul(columns)
    }

    /// Its stored tensors: role, source and tensor.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &Source, &TensorInfo)> {
        (0..).map_while(|index| self.part(index)).map(|part| {
            let (source, info) = self.model.stored(part.tensor);
            (part.role, source, info)
        })
    }

    pub(super) fn part(&self, index: usize) -> Option<Part> {
        match self.entry() {
            Entry::Plain(id) => (index == 0).then_some(Part { role: "weight", tensor: *id }),
            Entry::Scheme(_, bid) => bid.parts.get(index).copied(),
        }
    }

    /// The size of its stored tensors in bytes, including scales.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.parts().map(|(_, _, info)| info.bytes).fold(0, u64::saturating_add)
    }

    /// Borrows its stored bytes if it is plain and its file is mapped or in memory.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        let (_, source, info) = self.parts().next().filter(|_| self.is_plain())?;
        source.lent_bytes(info)
    }

    /// Decodes all values; the type of the slice selects `f32`, `bf16` or `f16`.
    pub fn decode_into<T: Element>(&self, out: &mut [T]) -> Result<()> {
        self.decode_rows(0..self.rows_and_columns().0, out)
    }

    /// Decodes some rows of the outermost dimension.
    pub fn decode_rows<T: Element>(&self, rows: Range<u64>, out: &mut [T]) -> Result<()> {
        self.decode_rows_with(rows, out, &mut Scratch::default())
    }

    /// Decodes some rows of the outermost dimension with reusable buffers.
    ///
    /// Once the buffers have grown, it does not allocate.
    pub fn decode_rows_with<T: Element>(
        &self,
        rows: Range<u64>,
        out: &mut [T],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.named(|| {
            let (all, columns) = self.rows_and_columns();
            check_range("rows", &rows, all, columns, out.len())?;
            self.decode_checked(self.elements_in(&rows), out, scratch, |_| Ok(()))
        })
    }

    /// Whether any range of elements can be decoded, not only whole rows.
    #[must_use]
    pub fn has_element_access(&self) -> bool {
        self.with_recipe(|recipe| Ok(recipe.has_element_access())).unwrap_or(false)
    }

    /// Whether it is stored transposed, so that a few of its rows are read in many small pieces.
    pub(crate) fn is_transposed(&self) -> bool {
        self.with_recipe(|recipe| Ok(recipe.is_transposed())).unwrap_or(false)
    }

    /// Whether some of what it is made of can only be read front to back.
    pub(crate) fn is_sequential(&self) -> bool {
        self.parts().any(|(_, source, info)| source.access(info) == Access::Sequential)
    }

    /// How many elements are decoded together, if not any stretch costs its length only.
    pub(crate) fn unit(&self) -> Option<u64> {
        let columns = self.rows_and_columns().1.max(1);
        self.with_recipe(|recipe| Ok(recipe.unit(columns))).unwrap_or(Some(columns))
    }

    /// How many elements are best decoded at a time, at most `most`; `None` where only whole rows
    /// can be decoded.
    pub(crate) fn element_batch(&self, most: u64) -> Option<u64> {
        let batch =
            |recipe: &dyn Recipe| Ok(recipe.has_element_access().then(|| recipe.batch(most)));
        self.with_recipe(batch).unwrap_or(None)
    }

    /// Decodes a flat range of elements, if that is [possible](Self::has_element_access).
    ///
    /// Its memory grows with the number of elements, not with the row length.
    pub fn decode_elements_with<T: Element>(
        &self,
        elements: Range<u64>,
        out: &mut [T],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.named(|| {
            check_range("elements", &elements, self.elements(), 1, out.len())?;
            self.decode_checked(elements, out, scratch, check_element_access)
        })
    }

    /// Decodes elements that `out` holds, unless `refuse` does not allow it.
    fn decode_checked<T: Element>(
        &self,
        elements: Range<u64>,
        out: &mut [T],
        scratch: &mut Scratch,
        refuse: fn(&dyn Recipe) -> Result<()>,
    ) -> Result<()> {
        self.model.refuse_unlike_twins(self)?;
        if let Some(read) = self.read_direct(&elements, out) {
            return read;
        }
        self.with_recipe(|recipe| {
            refuse(recipe)?;
            if out.is_empty() {
                return Ok(());
            }
            let staged = self.stage(scratch, |slabs| recipe.needs(elements.clone(), slabs))?;
            recipe.decode(&staged, elements, T::out(out))
        })
    }

    /// The largest stretch of stored bytes that some rows need at once.
    pub(crate) fn largest_slab(&self, rows: Range<u64>) -> Result<u64> {
        let slabs = self.slabs_of(rows)?;
        let bytes = slabs.iter().map(|slab| slab.row_bytes.saturating_mul(slab.count));
        Ok(bytes.max().unwrap_or(0))
    }

    /// How far apart the stored bytes of one row lie in each part; nothing where it cannot be decoded.
    pub(crate) fn spans_of_a_row(&self) -> Vec<(usize, u64)> {
        let span = |slab: &Slab| {
            let steps = slab.count.saturating_sub(1).saturating_mul(slab.stride);
            (slab.part, steps.saturating_add(slab.row_bytes))
        };
        self.slabs_of(0..1).unwrap_or_default().iter().map(span).collect()
    }

    /// Stored bytes that some rows need in all.
    pub(crate) fn staged_for_rows(&self, rows: Range<u64>) -> Result<u64> {
        self.slabs_of(rows).map(|slabs| total(&slabs))
    }

    fn slabs_of(&self, rows: Range<u64>) -> Result<Vec<Slab>> {
        self.with_recipe(|recipe| {
            let mut slabs = Vec::new();
            recipe.needs(self.elements_in(&rows), &mut slabs);
            Ok(slabs)
        })
    }

    /// Stored bytes that some elements need in all; none where only rows can be decoded.
    pub(crate) fn staged_for_elements(&self, elements: Range<u64>) -> Result<u64> {
        self.with_recipe(|recipe| {
            let mut slabs = Vec::new();
            if recipe.has_element_access() {
                recipe.needs(elements, &mut slabs);
            }
            Ok(total(&slabs))
        })
    }

    /// Does something with it; an error says which weight of which model it is about.
    pub(super) fn named<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        work().map_err(|e| e.in_tensor(self.name()).in_file(self.model.path()))
    }

    /// Calls `use_it` with the recipe of this weight; an error if it cannot be decoded.
    pub(super) fn with_recipe<R>(
        &self,
        use_it: impl FnOnce(&dyn Recipe) -> Result<R>,
    ) -> Result<R> {
        // The shape of a refused tensor may not match its bytes, so no offset can be trusted.
        self.parts().try_for_each(|(_, source, info)| source.check_readable(info))?;
        match self.entry() {
            Entry::Plain(id) => {
                let recipe = plain::recipe(self.info(*id));
                use_it(&recipe.map_err(Error::unsupported)?)
            }
            Entry::Scheme(_, bid) => match &bid.recipe {
                Ok(recipe) => use_it(&**recipe),
                Err(reason) => Err(Error::unsupported(reason.to_string())),
            },
        }
    }

    /// Its first stored tensor.
    pub(crate) fn first_part(&self) -> Option<TensorId> {
        self.part(0).map(|part| part.tensor)
    }

    /// The model it belongs to.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What its model knows of it.
    pub(super) fn entry(&self) -> &Entry {
        self.model.entry(self.index)
    }

    /// The path, name or address that its model was opened from.
    #[must_use]
    pub fn model_path(&self) -> &std::path::Path {
        self.model.path()
    }

    /// Fetches the slabs that `scratch` lists, into its buffers where they cannot be lent.
    pub(super) fn stage<'a>(
        &'a self,
        scratch: &'a mut Scratch,
        needs: impl FnOnce(&mut Vec<Slab>),
    ) -> Result<StagedParts<'a>> {
        scratch.slabs.clear();
        needs(&mut scratch.slabs);
        self.stage_listed(scratch).map(|(_, staged)| staged)
    }

    /// Fetches the slabs that `scratch` lists, and gives them too.
    pub(super) fn stage_listed<'a>(
        &'a self,
        scratch: &'a mut Scratch,
    ) -> Result<(&'a [Slab], StagedParts<'a>)> {
        scratch.buffers.resize_with(scratch.buffers.len().max(scratch.slabs.len()), Vec::new);
        let wanted = scratch.slabs.iter().zip(&mut scratch.buffers).map(|(slab, buffer)| {
            let (source, tensor) = self.stored_part(slab)?;
            Ok(Wanted { source, tensor, slab, buffer })
        });
        Ok((&scratch.slabs, fetch_all(wanted)?))
    }

    /// What is in the buffers of `scratch` already, with its slabs.
    pub(super) fn staged_already<'a>(
        &'a self,
        scratch: &'a Scratch,
    ) -> Result<(&'a [Slab], StagedParts<'a>)> {
        let staged = |(slab, buffer): (&Slab, &'a Vec<u8>)| {
            let (source, info) = self.stored_part(slab)?;
            source.fetched(info, slab, buffer)
        };
        let all: Result<StagedParts<'a>> =
            scratch.slabs.iter().zip(&scratch.buffers).map(staged).collect();
        Ok((&scratch.slabs, all?))
    }

    fn stored_part(&self, slab: &Slab) -> Result<(&Source, &TensorInfo)> {
        let missing = || Error::usage("its recipe needs a part that the weight does not have");
        Ok(self.model.stored(self.part(slab.part).ok_or_else(missing)?.tensor))
    }
}

pub(super) fn total(slabs: &[Slab]) -> u64 {
    let bytes = slabs.iter().map(|slab| slab.row_bytes.saturating_mul(slab.count));
    bytes.fold(0, u64::saturating_add)
}

/// An error if only whole rows can be decoded.
pub(super) fn check_element_access(recipe: &dyn Recipe) -> Result<()> {
    let by_rows = || Error::usage("it can be decoded only in whole rows");
    recipe.has_element_access().then_some(()).ok_or_else(by_rows)
}

pub(super) fn check_inside(what: &str, range: &Range<u64>, all: u64) -> Result<()> {
    if range.start > range.end || range.end > all {
        let message = format!("{what} {range:?} are out of range: there are only {all}");
        return Err(Error::usage(message));
    }
    Ok(())
}

/// Returns an error unless the range of `what` is within `all` and fills a buffer, with `columns`
/// elements each.
fn check_range(what: &str, range: &Range<u64>, all: u64, columns: u64, len: usize) -> Result<()> {
    check_inside(what, range, all)?;
    if (range.end - range.start).checked_mul(columns) == Some(len as u64) {
        return Ok(());
    }
    let each = if columns == 1 { String::new() } else { format!(" of {columns} elements") };
    Err(Error::usage(format!("{what} {range:?}{each} do not fill a buffer of {len}")))
}
