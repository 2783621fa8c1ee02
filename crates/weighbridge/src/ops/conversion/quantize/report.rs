//! What quantizing costs, weight by weight and type by type.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::pipeline::{Action, Cost, Job};

/// What quantizing cost. The field names are the JSON contract.
#[derive(Debug, Default, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)] // Each field is described in the guide's JSON section.
pub struct QuantizeReport {
    /// The type that was asked for.
    #[serde(rename = "type")]
    pub name: String,
    /// Bits of all weights, scales included, by the number of their elements.
    pub bits_per_weight: f64,
    /// The same for those that were encoded.
    pub encoded_bits_per_weight: Option<f64>,
    pub cost: Option<CostReport>,
    pub types: Vec<TypeReport>,
    pub weights: Vec<QuantizedWeight>,
}

/// All weights of one type.
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
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
#[derive(Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct QuantizedWeight {
    pub name: String,
    #[serde(rename = "type")]
    pub to: String,
    pub parameters: u64,
    pub bytes: u64,
    pub cost: Option<CostReport>,
}

/// What was lost.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
#[allow(missing_docs)]
pub struct CostReport {
    /// The signal-to-noise ratio; null where nothing was lost.
    pub snr_db: Option<f64>,
    /// The norm of the errors over the norm of the numbers.
    pub relative: Option<f64>,
    pub max_abs: f64,
    /// The largest error in steps between the levels of its group, where levels are known.
    pub max_steps: Option<f64>,
    /// Numbers more than half a step beyond the outermost level, where levels are known.
    pub clipped: Option<u64>,
    /// Numbers that became zero and were not.
    pub flushed: u64,
}

impl From<Cost> for CostReport {
    fn from(cost: Cost) -> Self {
        Self {
            snr_db: cost.snr_db(),
            relative: cost.relative(),
            max_abs: cost.largest.into(),
            max_steps: cost.steps.map(f64::from),
            clipped: cost.clipped,
            flushed: cost.flushed,
        }
    }
}

/// What jobs cost, or would take.
pub(in crate::ops::conversion) fn report(name: &str, jobs: &[&Job]) -> QuantizeReport {
    let mut types: BTreeMap<&str, (TypeReport, Option<Cost>)> = BTreeMap::new();
    let (mut weights, mut all, mut encoded) = (Vec::new(), None, [0u64; 2]);
    for job in jobs {
        let to = match &job.action {
            Action::Encode(encoding) => encoding.encoder.name(),
            _ => job.outputs.first().map_or("", |output| output.stored.name()),
        };
        let cost = match &job.action {
            Action::Encode(encoding) => encoding.cost.as_ref().and_then(|sum| sum.cost()),
            _ => None,
        };
        let (of_type, of_cost) = types.entry(to).or_insert_with(|| {
            let (weights, parameters, bytes) = (0, 0, 0);
            let name = to.to_owned();
            (
                TypeReport { name, weights, parameters, bytes, bits_per_weight: 0.0, cost: None },
                None,
            )
        });
        of_type.weights += 1;
        of_type.parameters += job.elements();
        of_type.bytes += job.bytes();
        add(of_cost, cost);
        add(&mut all, cost);
        if matches!(job.action, Action::Encode(_)) {
            encoded = [encoded[0] + job.bytes(), encoded[1] + job.elements()];
            weights.push(QuantizedWeight {
                name: job.outputs.first().map_or_else(String::new, |output| output.name.clone()),
                to: to.to_owned(),
                parameters: job.elements(),
                bytes: job.bytes(),
                cost: cost.map(CostReport::from),
            });
        }
    }
    let mut types: Vec<TypeReport> = types
        .into_values()
        .map(|(of_type, cost)| TypeReport {
            bits_per_weight: bits(of_type.bytes, of_type.parameters).unwrap_or(0.0),
            cost: cost.map(CostReport::from),
            ..of_type
        })
        .collect();
    types.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    let total = jobs.iter().fold([0u64; 2], |[bytes, elements], job| {
        [bytes.saturating_add(job.bytes()), elements.saturating_add(job.elements())]
    });
    QuantizeReport {
        name: name.to_owned(),
        bits_per_weight: bits(total[0], total[1]).unwrap_or(0.0),
        encoded_bits_per_weight: bits(encoded[0], encoded[1]),
        cost: all.map(CostReport::from),
        types,
        weights,
    }
}

fn add(sum: &mut Option<Cost>, more: Option<Cost>) {
    if let Some(more) = more {
        sum.get_or_insert_default().plus(&more);
    }
}

#[allow(clippy::cast_precision_loss)] // A ratio.
pub(super) fn bits(bytes: u64, elements: u64) -> Option<f64> {
    (elements > 0).then(|| bytes as f64 * 8.0 / elements as f64)
}
