//! Counts, and figures over all weights.

use super::judge::Status;
use super::report::{DiffSummary, Worst, WorstTensor};
use super::rules::{FailOver, Metric};
use super::tensor::DiffTensor;
use crate::compare::Statistics;

/// The cosine below which pairs are counted, where no rule names one.
const LOW_COSINE: f64 = 0.999;

/// How many of the worst pairs are listed for each figure.
const WORST: usize = 5;

/// Sums over all pairs.
#[derive(Default)]
pub(super) struct Whole {
    pub(super) stats: Statistics,
    /// Whether some pairs have the same bytes and were not decoded.
    has_unknown: bool,
}

impl Whole {
    /// A pair whose bytes are the same.
    pub(super) fn add_same(&mut self, elements: u64) {
        self.stats.both += elements;
        self.has_unknown = true;
    }

    fn cosine(&self) -> Option<f64> {
        match (self.has_unknown, self.stats.squares == 0.0) {
            // Everything is the same, whatever it is.
            (true, true) => Some(1.0),
            // Weights that cannot be decoded are the same to the byte, others differ.
            _ if self.stats.both == 0 => None,
            _ => Some(self.stats.cosine()),
        }
        .filter(|value| value.is_finite())
    }

    fn rmse(&self) -> Option<f64> {
        let rmse = (self.stats.both > 0).then(|| self.stats.root_mean_square());
        rmse.filter(|value| value.is_finite())
    }
}

pub(super) fn summary(
    tensors: &[DiffTensor],
    missing: usize,
    whole: &Whole,
    rule: Option<&FailOver>,
) -> DiffSummary {
    let count = |status| tensors.iter().filter(|tensor| tensor.status == status).count() as u64;
    let bound = rule.and_then(FailOver::cosine).unwrap_or(LOW_COSINE);
    let cosines = || tensors.iter().filter_map(|tensor| tensor.cosine);
    let compared = tensors.iter().filter(|tensor| tensor.has_values()).count() as u64;
    DiffSummary {
        compared,
        identical: count(Status::Identical),
        equal_after_rounding: count(Status::EqualAfterRounding),
        within_precision: count(Status::WithinPrecision),
        changed: count(Status::Changed),
        unjudged: count(Status::Unjudged),
        shape_mismatch: count(Status::Shape),
        missing: missing as u64,
        undecoded: count(Status::Undecoded),
        failed: tensors.iter().filter(|tensor| tensor.failed).count() as u64,
        min_cosine: cosines().reduce(f64::min),
        below: cosines().filter(|cosine| *cosine < bound).count() as u64,
        model_cosine: (compared > 0).then(|| whole.cosine()).flatten(),
        model_rmse: (compared > 0).then(|| whole.rmse()).flatten(),
        worst: Metric::DISTANCES.iter().filter_map(|&metric| worst(tensors, metric)).collect(),
        reencoded: None,
    }
}

/// The worst pairs by a metric; `None` if no pair differs.
fn worst(tensors: &[DiffTensor], metric: Metric) -> Option<Worst> {
    let differs =
        |tensor: &&DiffTensor| tensor.identical.is_some_and(|same| same < tensor.elements);
    let figure = |tensor: &'_ DiffTensor| Some((metric.badness(tensor)?, metric.of(tensor)?));
    let mut all: Vec<_> = tensors
        .iter()
        .filter(differs)
        .filter_map(|tensor| figure(tensor).map(|figure| (figure, &tensor.name_a)))
        .collect();
    all.sort_by(|a, b| b.0.0.total_cmp(&a.0.0));
    all.truncate(WORST);
    let tensors =
        all.iter().map(|((_, value), name)| WorstTensor { name: (*name).clone(), value: *value });
    (!all.is_empty()).then(|| Worst { metric, tensors: tensors.collect() })
}
