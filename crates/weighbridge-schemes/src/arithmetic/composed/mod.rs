//! A weight composed of others: rows of one after rows of another, reordered rows, transposed
//! matrices, changed values.
//!
//! Every number is decoded by its own recipe. This module only decides which numbers of which
//! weight go where.

use std::ops::Range;

use crate::arithmetic::length;
use crate::compare::Wide;
use crate::error::Result;
use crate::framework::recipe::in_type_of;
use crate::framework::{GroupedCodes, GroupedForm, NOT_MOVED, Origins, Portion, Recipe};
use crate::number::Out;
use crate::shape::least_common_multiple;
use crate::source::{Slab, Staged};

mod block;
mod codes;
mod computed;
mod figure;
mod in_turn;
mod origins;
mod rows;
mod stretch;
#[cfg(test)]
mod tests;

use block::{Block, Buffers};
pub use computed::Computed;
use figure::Figure;
pub use in_turn::InTurn;
pub use stretch::Stretch;

/// Elements per tile if parts are transposed. Such tiles are read in pieces that are not short, and
/// are in memory twice.
const ACROSS_ELEMENTS: u64 = 1 << 20;

/// Stretches of weights, one after another.
pub struct Composed {
    stretches: Vec<Stretch>,
    /// Whether any range of elements can be decoded.
    has_element_access: bool,
    /// Form of its codes, if they can be read unchanged.
    codes: Option<GroupedForm>,
}

impl Composed {
    /// Creates a weight of these stretches.
    pub fn new(stretches: Vec<Stretch>) -> Self {
        let has_element_access = stretches.iter().all(Stretch::has_element_access);
        let codes = Self::form_of_codes(&stretches);
        Self { stretches, has_element_access, codes }
    }

    /// Calls `take` with each block of `elements`, in order.
    fn each_block<'s>(
        &'s self,
        elements: &Range<u64>,
        mut take: impl FnMut(&'s Stretch, &Block) -> Result<()>,
    ) -> Result<()> {
        let mut first = 0u64;
        for stretch in &self.stretches {
            let len = stretch.elements();
            let start = elements.start.max(first) - first;
            let end = elements.end.min(first + len).max(first) - first;
            if start < end {
                let at = length(first + start - elements.start);
                stretch.each_block(start..end, at, &mut |block| take(stretch, block))?;
            }
            first += len;
        }
        Ok(())
    }

    fn decode_as<T: Figure>(&self, of: &Portion<'_>, out: &mut [T]) -> Result<()> {
        let (mut rest, mut buffers) = (of.staged, Buffers::default());
        self.each_block(&of.elements, |stretch, block| {
            let used = stretch.decode(block, rest, out, &mut buffers)?;
            rest = rest.get(used..).unwrap_or_default();
            Ok(())
        })
    }
}

impl Recipe for Composed {
    fn has_element_access(&self) -> bool {
        self.has_element_access
    }

    fn is_transposed(&self) -> bool {
        self.stretches.iter().any(Stretch::is_transposed)
    }

    fn unit(&self, _: u64) -> Option<u64> {
        self.stretches.iter().filter_map(Stretch::unit).reduce(least_common_multiple)
    }

    fn codes(&self) -> Result<&dyn GroupedCodes, &'static str> {
        self.codes.map(|_| self as &dyn GroupedCodes).ok_or(NOT_MOVED)
    }

    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        // Listing byte ranges does not fail.
        _ = self.each_block(&elements, |stretch, block| {
            stretch.needs(block, slabs);
            Ok(())
        });
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        in_type_of!(out, self.decode_as(&Portion { staged, elements }, out))
    }

    fn decode_wide(&self, of: &Portion<'_>, out: &mut [Wide]) -> Result<bool> {
        self.decode_as(of, out).map(|()| true)
    }

    fn origins(&self) -> Option<&dyn Origins> {
        self.has_origins().then_some(self as &dyn Origins)
    }

    fn batch(&self, most: u64) -> u64 {
        self.stretches.iter().map(|stretch| stretch.batch(most)).min().unwrap_or(most)
    }
}
