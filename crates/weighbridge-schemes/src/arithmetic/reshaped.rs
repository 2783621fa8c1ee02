//! A weight whose logical shape is not that of the stored tensor: the same elements in the same
//! order, cut into other rows.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::framework::{ByElements, Elements, Origins, Recipe};
use crate::number::Out;
use crate::source::{Slab, Staged};

/// A recipe with rows of another length.
pub struct Reshaped {
    inner: Arc<dyn Recipe>,
    columns: u64,
}

impl Reshaped {
    /// The recipe with rows of `columns` elements; `None` if it decodes whole rows only.
    pub fn new(inner: Arc<dyn Recipe>, columns: u64) -> Option<Self> {
        inner.elements()?;
        Some(Self { inner, columns })
    }
}

impl ByElements for Reshaped {
    fn row_elements(&self) -> u64 {
        self.columns
    }
}

impl Elements for Reshaped {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        if let Some(inner) = self.inner.elements() {
            inner.needs(elements, slabs);
        }
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        match self.inner.elements() {
            Some(inner) => inner.decode(staged, elements, out),
            None => Ok(()),
        }
    }

    fn batch(&self, most: u64) -> u64 {
        self.inner.elements().map_or(most, |inner| inner.batch(most))
    }

    fn origins(&self) -> Option<&dyn Origins> {
        self.inner.origins()
    }
}
