//! What quantizing costs, weight by weight and type by type.

use std::collections::BTreeMap;

use crate::ops::inspect::bits_per_weight;
use crate::ops::reports::reports;
use crate::pipeline::{Action, Cost, Job};

reports! {
    /// What quantizing cost. The field names are the JSON contract.
    #[derive(Default)]
    pub struct QuantizeReport {
        /// The type that was asked for.
        #[serde(rename = "type")]
        pub name: String,
        /// Bits of all weights, scales included, by the number of their elements.
        pub bits_per_weight: f64,
        /// Bits per weight of the encoded weights only.
        pub encoded_bits_per_weight: Option<f64>,
        pub cost: Option<CostReport>,
        pub types: Vec<TypeReport>,
        pub weights: Vec<QuantizedWeight>,
    }

    /// All weights of one type.
    pub struct TypeReport {
        #[serde(rename = "type")]
        pub name: String,
        pub weights: u64,
        pub parameters: u64,
        pub bytes: u64,
        pub bits_per_weight: f64,
        pub cost: Option<CostReport>,
    }

    /// One weight that was encoded.
    pub struct QuantizedWeight {
        pub name: String,
        #[serde(rename = "type")]
        pub to: String,
        pub parameters: u64,
        pub bytes: u64,
        pub cost: Option<CostReport>,
    }

    /// What was lost.
    #[derive(Clone, Copy)]
    pub struct CostReport {
        /// The signal-to-noise ratio; null where nothing was lost or numbers are not finite.
        pub snr_db: Option<f64>,
        /// The norm of the errors over the norm of the numbers; null where numbers are not finite.
        pub relative: Option<f64>,
        pub max_abs: f64,
        /// The largest error in steps between the levels of its group, where levels are known.
        pub max_steps: Option<f64>,
        /// Numbers more than half a step beyond the outermost level, where levels are known.
        pub clipped: Option<u64>,
        /// Numbers that became zero and were not.
        pub flushed: u64,
        /// Numbers that are NaN or infinite, in the source or after decoding. The other figures
        /// leave them out.
        pub nonfinite: u64,
    }
}

impl From<Cost> for CostReport {
    fn from(cost: Cost) -> Self {
        Self {
            snr_db: cost.snr_db(),
            relative: cost.relative(),
            max_abs: cost.largest,
            max_steps: cost.steps.filter(|steps| steps.is_finite()).map(f64::from),
            clipped: cost.clipped,
            flushed: cost.flushed,
            nonfinite: cost.non_finite,
        }
    }
}

/// What some weights take and cost together.
#[derive(Default)]
struct Tally {
    weights: u64,
    parameters: u64,
    bytes: u64,
    cost: Option<Cost>,
}

impl Tally {
    fn add(&mut self, job: &Job, cost: Option<Cost>) {
        self.weights += 1;
        self.parameters = self.parameters.saturating_add(job.elements());
        self.bytes = self.bytes.saturating_add(job.bytes());
        if let Some(cost) = cost {
            self.cost.get_or_insert_default().plus(&cost);
        }
    }

    fn bits(&self) -> Option<f64> {
        bits_per_weight(self.bytes, self.parameters)
    }
}

/// What jobs cost, or would take.
pub(in crate::ops::conversion) fn report(name: &str, jobs: &[&Job]) -> QuantizeReport {
    let mut types: BTreeMap<&str, Tally> = BTreeMap::new();
    let (mut all, mut encoded, mut weights) = (Tally::default(), Tally::default(), Vec::new());
    for job in jobs {
        let first = job.outputs.first();
        let (to, cost) = match &job.action {
            Action::Encode(encoding) => {
                let cost = encoding.cost.as_ref().map(|sum| sum.so_far());
                (encoding.encoder.name(), cost.filter(|cost| cost.elements > 0))
            }
            _ => (first.map_or("", |output| output.stored.name()), None),
        };
        types.entry(to).or_default().add(job, cost);
        all.add(job, cost);
        if matches!(job.action, Action::Encode(_)) {
            encoded.add(job, cost);
            weights.push(QuantizedWeight {
                name: first.map_or_else(String::new, |output| output.name.clone()),
                to: to.to_owned(),
                parameters: job.elements(),
                bytes: job.bytes(),
                cost: cost.map(CostReport::from),
            });
        }
    }
    let of_type = |(name, tally): (&str, Tally)| TypeReport {
        name: name.to_owned(),
        weights: tally.weights,
        parameters: tally.parameters,
        bytes: tally.bytes,
        bits_per_weight: tally.bits().unwrap_or(0.0),
        cost: tally.cost.map(CostReport::from),
    };
    let mut types: Vec<TypeReport> = types.into_iter().map(of_type).collect();
    types.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    QuantizeReport {
        name: name.to_owned(),
        bits_per_weight: all.bits().unwrap_or(0.0),
        encoded_bits_per_weight: encoded.bits(),
        cost: all.cost.map(CostReport::from),
        types,
        weights,
    }
}
