//! Recipes: decode one weight.

use std::ops::Range;
use std::sync::Arc;

use crate::compare::Wide;
use crate::error::{Error, Result};
use crate::framework::{GroupedCodes, NOT_MOVED, Origins, Portion};
use crate::number::Out;
use crate::source::{Slab, Staged};

/// Decodes one weight: which bytes some elements need, and how they become numbers.
///
/// Elements are counted through the whole weight, the innermost dimension first. Most recipes
/// decode any range of elements; the others decode whole rows only.
pub trait Recipe: Send + Sync {
    /// Returns the recipe that this one delegates to.
    fn inner(&self) -> Option<&dyn Recipe> {
        None
    }

    /// Whether decoding a range of elements costs no more than its length, so that rows may exceed
    /// memory. Otherwise only whole rows can be decoded.
    fn has_element_access(&self) -> bool {
        self.inner().is_none_or(Recipe::has_element_access)
    }

    /// Appends the byte ranges that `elements` need to `slabs`.
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        if let Some(inner) = self.inner() {
            inner.needs(elements, slabs);
        }
    }

    /// Decodes `elements` into `out`, which has exactly their length. `staged[i]` holds the bytes
    /// of the `i`th slab of [`needs`](Self::needs).
    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        let inner = self.inner().ok_or_else(|| Error::usage("no scheme decodes it"))?;
        inner.decode(staged, elements, out)
    }

    /// Decodes elements at full precision, as [`decode`](Self::decode) does. Returns whether f32 is
    /// too narrow for them.
    fn decode_wide(&self, of: &Portion<'_>, out: &mut [Wide]) -> Result<bool> {
        self.inner().map_or(Ok(false), |inner| inner.decode_wide(of, out))
    }

    /// Returns the best number of elements to decode at a time, at most `most`. Batches start with
    /// the first element of the weight.
    fn batch(&self, most: u64) -> u64 {
        self.inner().map_or(most, |inner| inner.batch(most))
    }

    /// Whether rows of the weight are columns of the stored tensor. A few rows then take as many
    /// reads as all of them.
    fn is_transposed(&self) -> bool {
        self.inner().is_some_and(Recipe::is_transposed)
    }

    /// Returns the number of elements that are decoded together if a row has `columns` columns;
    /// fewer cost as much. `None` if the cost of any range is proportional to its length.
    fn unit(&self, columns: u64) -> Option<u64> {
        match self.inner() {
            Some(inner) => inner.unit(columns),
            None => (!self.has_element_access()).then_some(columns.max(1)),
        }
    }

    /// Returns bounds on the numbers that the weight was made from; `None` if storing is lossless,
    /// or if its loss is unknown.
    fn origins(&self) -> Option<&dyn Origins> {
        self.inner()?.origins()
    }

    /// Returns the codes if another layout can store them unchanged; otherwise why it cannot.
    fn codes(&self) -> Result<&dyn GroupedCodes, &'static str> {
        self.inner().ok_or(NOT_MOVED)?.codes()
    }

    /// Returns the recipe of the weight with each matrix transposed, if they are stored that way.
    fn as_stored(&self) -> Option<Arc<dyn Recipe>> {
        self.inner()?.as_stored()
    }
}

impl dyn Recipe + '_ {
    /// Returns the elements to decode for a range of elements, if a row has `columns` columns:
    /// whole rows, unless the recipe has element access.
    pub fn around(&self, elements: &Range<u64>, columns: u64) -> Range<u64> {
        if self.has_element_access() {
            return elements.clone();
        }
        let rows = rows_of(elements, columns);
        rows.start.saturating_mul(columns)..rows.end.saturating_mul(columns)
    }
}

/// Runs the same code in the type that numbers are decoded to.
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

/// Returns the rows that some elements are in.
pub(crate) fn rows_of(elements: &Range<u64>, columns: u64) -> Range<u64> {
    elements.start / columns.max(1)..elements.end.div_ceil(columns.max(1))
}
