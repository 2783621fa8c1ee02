//! All weights of a model, or some of them.

use std::iter::FusedIterator;
use std::ops::Range;

use super::{Model, Select, Weight};

/// The weights of a model, in the order of its files.
#[derive(Clone, Debug)]
pub struct Weights<'m> {
    model: &'m Model,
    indices: Range<usize>,
}

impl<'m> Weights<'m> {
    pub(super) fn new(model: &'m Model, count: usize) -> Self {
        Self { model, indices: 0..count }
    }

    /// Takes only weights whose name matches.
    pub fn include(
        self,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> SelectedWeights<'m> {
        self.select(Select::new().include(matches))
    }

    /// Leaves out weights whose name matches.
    pub fn exclude(
        self,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> SelectedWeights<'m> {
        self.select(Select::new().exclude(matches))
    }

    /// Takes only weights that a choice wants.
    pub fn select(self, select: Select) -> SelectedWeights<'m> {
        SelectedWeights { weights: self, select }
    }

    fn weight(&self, index: usize) -> Weight {
        Weight::new(self.model.clone(), index)
    }
}

impl Iterator for Weights<'_> {
    type Item = Weight;

    fn next(&mut self) -> Option<Weight> {
        self.indices.next().map(|index| self.weight(index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.indices.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<Weight> {
        self.indices.nth(n).map(|index| self.weight(index))
    }
}

impl ExactSizeIterator for Weights<'_> {}
impl FusedIterator for Weights<'_> {}

/// Some weights of a model, in the order of its files.
#[derive(Clone, Debug)]
pub struct SelectedWeights<'m> {
    weights: Weights<'m>,
    select: Select,
}

impl SelectedWeights<'_> {
    /// Takes only weights whose name matches this or another included pattern.
    #[must_use]
    pub fn include(mut self, matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.select = self.select.include(matches);
        self
    }

    /// Leaves out weights whose name matches, even those that are included.
    #[must_use]
    pub fn exclude(mut self, matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.select = self.select.exclude(matches);
        self
    }
}

impl Iterator for SelectedWeights<'_> {
    type Item = Weight;

    fn next(&mut self) -> Option<Weight> {
        let Self { weights, select } = self;
        let index = weights.indices.find(|&index| select.wants(weights.model.name_at(index)))?;
        Some(weights.weight(index))
    }
}

impl FusedIterator for SelectedWeights<'_> {}
