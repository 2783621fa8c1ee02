//! A weight that interleaves the numbers of several others.

use std::ops::Range;

use super::{Composed, length};
use crate::error::Result;
use crate::framework::{Portion, Recipe};
use crate::number::Out;
use crate::source::{Slab, Staged};

/// Interleaves weights of equal length, which are stored one after another.
pub struct InTurn {
    whole: Composed,
    turns: u64,
}

impl InTurn {
    /// Creates a weight of `turns` others, which follow each other in `whole`.
    pub fn new(whole: Composed, turns: u64) -> Self {
        Self { whole, turns: turns.max(1) }
    }

    /// Returns the numbers of each of the others that `elements` contain.
    fn ranges(&self, elements: &Range<u64>) -> Vec<Range<u64>> {
        let each =
            self.whole.stretches.iter().map(super::Stretch::elements).sum::<u64>() / self.turns;
        let first_from = |at: u64, turn: u64| at.saturating_sub(turn).div_ceil(self.turns);
        let range = |turn: u64| {
            let start = turn * each;
            start + first_from(elements.start, turn)..start + first_from(elements.end, turn)
        };
        (0..self.turns).map(range).collect()
    }
}

impl Recipe for InTurn {
    fn has_element_access(&self) -> bool {
        self.whole.has_element_access
    }

    fn is_transposed(&self) -> bool {
        self.whole.is_transposed()
    }

    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        for range in self.ranges(&elements) {
            self.whole.needs(range, slabs);
        }
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        let (mut rest, mut turns) = (staged, Vec::new());
        for range in self.ranges(&elements) {
            let mut slabs = Vec::new();
            self.whole.needs(range.clone(), &mut slabs);
            let mut numbers = vec![0.0_f32; length(range.end - range.start)];
            let of = Portion { staged: rest, elements: range };
            self.whole.decode_as(&of, &mut numbers)?;
            rest = rest.get(slabs.len()..).unwrap_or_default();
            turns.push(numbers.into_iter());
        }
        let count = turns.len();
        let first = length(elements.start % self.turns);
        out.fill_with(|index| turns[(first + index) % count].next().unwrap_or(0.0));
        Ok(())
    }

    fn batch(&self, most: u64) -> u64 {
        self.whole.batch((most / self.turns).max(1)).saturating_mul(self.turns)
    }
}
