//! Numbers computed from the model's settings instead of read from a file.

use std::ops::Range;

use super::length;
use crate::error::Result;
use crate::framework::Recipe;
use crate::number::Out;
use crate::source::Staged;

/// Computed numbers.
pub struct Computed {
    numbers: Vec<f32>,
}

impl Computed {
    /// Creates a recipe that returns these numbers.
    pub fn new(numbers: Vec<f32>) -> Self {
        Self { numbers }
    }
}

impl Recipe for Computed {
    fn decode(&self, _: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        let first = length(elements.start);
        out.fill_with(|index| self.numbers.get(first + index).copied().unwrap_or(0.0));
        Ok(())
    }
}
