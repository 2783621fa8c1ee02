//! How one weight becomes numbers.

use std::ops::Range;
use std::sync::Arc;

use crate::compare::Wide;
use crate::error::{Error, Result};
use crate::framework::{GroupedCodes, NOT_MOVED, Origins, Portion};
use crate::number::Out;
use crate::source::{Slab, Staged};

/// How one weight becomes numbers: which bytes some elements need, and what to do with them.
///
/// Elements are counted through the whole weight, the innermost dimension first. Most recipes
/// decode any stretch of them; the others whole rows only.
pub trait Recipe: Send + Sync {
    /// The recipe that does all that this one does not do itself.
    fn inner(&self) -> Option<&dyn Recipe> {
        None
    }

    /// Whether any stretch of elements costs no more than its length: rows may be larger than
    /// memory. Without it, only whole rows can be decoded.
    fn has_element_access(&self) -> bool {
        self.inner().is_none_or(Recipe::has_element_access)
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
        let inner = self.inner().ok_or_else(|| Error::usage("no scheme decodes it"))?;
        inner.decode(staged, elements, out)
    }

    /// Decodes elements with all of their digits, as [`decode`](Self::decode) does; whether f32 has
    /// no room for them.
    fn decode_wide(&self, of: &Portion<'_>, out: &mut [Wide]) -> Result<bool> {
        self.inner().map_or(Ok(false), |inner| inner.decode_wide(of, out))
    }

    /// How many elements are best decoded at a time, at most `most`. Batches start with the first
    /// element of the weight.
    fn batch(&self, most: u64) -> u64 {
        self.inner().map_or(most, |inner| inner.batch(most))
    }

    /// Whether rows of the weight are columns of what is stored: a few rows then take as many reads
    /// as all of them.
    fn is_transposed(&self) -> bool {
        self.inner().is_some_and(Recipe::is_transposed)
    }

    /// How many elements are decoded together, where a row has `columns`: fewer cost as much. `None`
    /// where any stretch costs no more than its length.
    fn unit(&self, columns: u64) -> Option<u64> {
        match self.inner() {
            Some(inner) => inner.unit(columns),
            None => (!self.has_element_access()).then_some(columns.max(1)),
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
    /// What must be decoded for some elements, where a row has `columns`: whole rows, if only
    /// those can be.
    pub fn around(&self, elements: &Range<u64>, columns: u64) -> Range<u64> {
        if self.has_element_access() {
            return elements.clone();
        }
        let rows = rows_of(elements, columns);
        rows.start.saturating_mul(columns)..rows.end.saturating_mul(columns)
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

/// The rows that some elements are in.
pub(crate) fn rows_of(elements: &Range<u64>, columns: u64) -> Range<u64> {
    elements.start / columns.max(1)..elements.end.div_ceil(columns.max(1))
}
