//! A weight whose logical shape is not that of the stored tensor: the same elements in the same
//! order, cut into other rows.

use std::sync::Arc;

use crate::framework::{ByElements, Elements, Recipe};

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
    fn inner(&self) -> Option<&dyn Elements> {
        self.inner.elements()
    }
}
