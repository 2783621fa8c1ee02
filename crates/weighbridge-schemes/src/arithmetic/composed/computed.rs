//! Numbers that are in no file: they follow from the model's settings.

use std::ops::Range;

use super::length;
use crate::error::Result;
use crate::framework::{ByElements, Elements};
use crate::number::Out;
use crate::source::{Slab, Staged};

/// Such numbers.
pub struct Computed {
    numbers: Vec<f32>,
}

impl Computed {
    /// These numbers.
    pub fn new(numbers: Vec<f32>) -> Self {
        Self { numbers }
    }
}

impl ByElements for Computed {
    fn row_elements(&self) -> u64 {
        1
    }
}

impl Elements for Computed {
    fn needs(&self, _: Range<u64>, _: &mut Vec<Slab>) {}

    fn decode(&self, _: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        let first = length(elements.start);
        out.fill_with(|index| self.numbers.get(first + index).copied().unwrap_or(0.0));
        Ok(())
    }
}
