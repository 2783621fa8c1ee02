//! How one weight becomes numbers.

use std::ops::Range;
use std::sync::Arc;

use crate::compare::Wide;
use crate::error::{Error, Result};
use crate::framework::{GroupedCodes, NOT_MOVED, Origins};
use crate::number::Out;
use crate::source::{Slab, Staged};

/// How one weight becomes numbers: which bytes some rows need, and what to do with them.
pub trait Recipe: Send + Sync {
    /// The recipe that does all that this one does not do itself.
    fn inner(&self) -> Option<&dyn Recipe> {
        None
    }

    /// The pieces of the parts that `rows` need, appended to `slabs`.
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        if let Some(inner) = self.inner() {
            inner.needs(rows, slabs);
        }
    }

    /// Decodes `rows` into `out`, which holds exactly them. `staged[i]` holds the bytes of the
    /// `i`th slab of [`needs`](Self::needs).
    fn decode(&self, staged: &[Staged<'_>], rows: Range<u64>, out: Out<'_>) -> Result<()> {
        self.inner().ok_or_else(nobody)?.decode(staged, rows, out)
    }

    /// Whether rows of the weight are columns of what is stored: a few rows then take as many reads
    /// as all of them.
    fn is_transposed(&self) -> bool {
        self.inner().is_some_and(Recipe::is_transposed)
    }

    /// Decodes any stretch of elements, if that costs no more than the stretch: rows may be larger
    /// than memory.
    fn elements(&self) -> Option<&dyn Elements> {
        self.inner()?.elements()
    }

    /// How many elements are decoded together, where a row has `columns`: fewer cost as much. `None`
    /// where any stretch costs no more than its length.
    fn unit(&self, columns: u64) -> Option<u64> {
        match self.inner() {
            Some(inner) => inner.unit(columns),
            None => self.elements().is_none().then_some(columns.max(1)),
        }
    }

    /// What is known about the numbers that the weight was made from; nothing where storing them
    /// loses nothing, or where it is not known what it loses.
    fn origins(&self) -> Option<&dyn Origins> {
        self.inner()?.origins()
    }

    /// Its codes, where they can go into another layout as they are; otherwise why they cannot.
    fn codes(&self) -> Result<&dyn GroupedCodes, &'static str> {
        self.inner().ok_or(NOT_MOVED)?.codes()
    }

    /// The recipe of the weight with each of its matrices transposed, where that is how they are
    /// stored.
    fn as_stored(&self) -> Option<Arc<dyn Recipe>> {
        self.inner()?.as_stored()
    }
}

impl dyn Recipe + '_ {
    /// What some elements need, where a row has `columns`: whole rows, if only those can be decoded.
    pub fn needs_of(&self, elements: &Range<u64>, columns: u64, slabs: &mut Vec<Slab>) {
        match self.elements() {
            Some(by_elements) => by_elements.needs(elements.clone(), slabs),
            None => self.needs(rows_of(elements, columns), slabs),
        }
    }

    /// Decodes what `needs_of` lists; `elements` are whole rows, if only those can
    /// be decoded.
    pub fn decode_of(
        &self,
        staged: &[Staged<'_>],
        elements: &Range<u64>,
        columns: u64,
        out: Out<'_>,
    ) -> Result<()> {
        match self.elements() {
            Some(by_elements) => by_elements.decode(staged, elements.clone(), out),
            None => self.decode(staged, rows_of(elements, columns), out),
        }
    }
}

/// The error of a recipe that neither decodes nor hands on.
fn nobody() -> Error {
    Error::usage("nothing decodes it")
}

/// A [`Recipe`] that does not need whole rows. Elements are counted through the whole weight, the
/// innermost dimension first.
pub trait Elements: Send + Sync {
    /// What does all that this does not do itself.
    fn inner(&self) -> Option<&dyn Elements> {
        None
    }

    /// The pieces of the parts that `elements` need, appended to `slabs`.
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        if let Some(inner) = self.inner() {
            inner.needs(elements, slabs);
        }
    }

    /// Decodes `elements` into `out`, which holds exactly them. `staged[i]` holds the bytes of the
    /// `i`th slab of [`needs`](Self::needs).
    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        self.inner().ok_or_else(nobody)?.decode(staged, elements, out)
    }

    /// How many elements are best decoded at a time, at most `most`. Batches start with the first
    /// element of the weight.
    fn batch(&self, most: u64) -> u64 {
        self.inner().map_or(most, |inner| inner.batch(most))
    }

    /// Decodes `elements` with all of their digits, as [`decode`](Self::decode) does; whether f32 has
    /// no room for them.
    fn decode_wide(
        &self,
        staged: &[Staged<'_>],
        elements: Range<u64>,
        out: &mut [Wide],
    ) -> Result<bool> {
        self.inner().map_or(Ok(false), |inner| inner.decode_wide(staged, elements, out))
    }

    /// See [`Recipe::origins`].
    fn origins(&self) -> Option<&dyn Origins> {
        self.inner()?.origins()
    }
}

/// [`Elements`] that make a whole [`Recipe`]: a row is a stretch of elements.
pub trait ByElements: Elements {
    /// Elements of one row of the outermost dimension.
    fn row_elements(&self) -> u64;

    /// Whether any stretch costs no more than itself.
    fn has_element_access(&self) -> bool {
        true
    }

    /// See [`Recipe::is_transposed`].
    fn is_transposed(&self) -> bool {
        false
    }

    /// See [`Recipe::unit`].
    fn unit(&self) -> Option<u64> {
        (!self.has_element_access()).then_some(self.row_elements().max(1))
    }

    /// See [`Recipe::codes`].
    fn codes(&self) -> Result<&dyn GroupedCodes, &'static str> {
        Err(NOT_MOVED)
    }

    /// See [`Recipe::as_stored`].
    fn as_stored(&self) -> Option<Arc<dyn Recipe>> {
        None
    }
}

impl<T: ByElements> Recipe for T {
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        Elements::needs(self, elements_of(&rows, self.row_elements()), slabs);
    }

    fn decode(&self, staged: &[Staged<'_>], rows: Range<u64>, out: Out<'_>) -> Result<()> {
        Elements::decode(self, staged, elements_of(&rows, self.row_elements()), out)
    }

    fn is_transposed(&self) -> bool {
        ByElements::is_transposed(self)
    }

    fn elements(&self) -> Option<&dyn Elements> {
        self.has_element_access().then_some(self)
    }

    fn unit(&self, _: u64) -> Option<u64> {
        ByElements::unit(self)
    }

    fn origins(&self) -> Option<&dyn Origins> {
        Elements::origins(self)
    }

    fn codes(&self) -> Result<&dyn GroupedCodes, &'static str> {
        ByElements::codes(self)
    }

    fn as_stored(&self) -> Option<Arc<dyn Recipe>> {
        ByElements::as_stored(self)
    }
}

/// Does the same in whichever type numbers go to.
macro_rules! in_type_of {
    ($out:ident, $do:expr) => {
        match $out {
            crate::number::Out::F32($out) => $do,
            crate::number::Out::Bf16($out) => $do,
            crate::number::Out::F16($out) => $do,
        }
    };
}
pub(crate) use in_type_of;

/// The elements of some rows.
pub(crate) fn elements_of(rows: &Range<u64>, columns: u64) -> Range<u64> {
    rows.start.saturating_mul(columns)..rows.end.saturating_mul(columns)
}

/// The rows that some elements are in.
pub(crate) fn rows_of(elements: &Range<u64>, columns: u64) -> Range<u64> {
    elements.start / columns.max(1)..elements.end.div_ceil(columns.max(1))
}
