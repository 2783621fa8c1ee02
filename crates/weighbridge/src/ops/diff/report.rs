//! The report on a comparison. The field names are the JSON contract.

use serde::Serializer;

use super::rules::Metric;
use super::tensor::DiffTensor;
use crate::ops::reports::reports;

reports! {
    /// How two models compare.
    pub struct DiffReport {
        pub a: String,
        pub b: String,
        pub ok: bool,
        pub summary: DiffSummary,
        pub only_a: Vec<String>,
        pub only_b: Vec<String>,
        pub explained: Vec<Explained>,
        pub skipped: Vec<Explained>,
        pub tensors: Vec<DiffTensor>,
        pub settings: Vec<Setting>,
        pub metadata: DiffMetadata,
        pub notes: Vec<String>,
    }

    /// Counts, and figures over all weights.
    #[derive(Default)]
    pub struct DiffSummary {
        pub compared: u64,
        pub identical: u64,
        pub equal_after_rounding: u64,
        pub within_precision: u64,
        pub changed: u64,
        pub unjudged: u64,
        pub shape_mismatch: u64,
        pub missing: u64,
        pub undecoded: u64,
        pub failed: u64,
        pub min_cosine: Option<f64>,
        pub below: u64,
        pub model_cosine: Option<f64>,
        pub model_rmse: Option<f64>,
        pub worst: Vec<Worst>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reencoded: Option<ReencodedSummary>,
    }

    /// How many originals were encoded once more, and what came of it.
    #[derive(Clone, Copy, PartialEq)]
    pub struct ReencodedSummary {
        pub compared: u64,
        pub same_bytes: u64,
        pub worst_ratio: Option<f64>,
    }

    /// The pairs with the worst figures of one kind, the worst first.
    pub struct Worst {
        #[serde(serialize_with = "metric_name")]
        pub metric: Metric,
        pub tensors: Vec<WorstTensor>,
    }

    /// A pair and the figure.
    pub struct WorstTensor {
        pub name: String,
        pub value: f64,
    }
}

fn metric_name<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.name())
}

reports! {
    /// A weight that has no counterpart, and needs none.
    pub struct Explained {
        pub side: &'static str,
        pub name: String,
        pub reason: String,
    }

    /// A setting that differs: a key of a config, of metadata or of a tokenizer.
    pub struct Setting {
        pub key: String,
        pub a: serde_json::Value,
        pub b: serde_json::Value,
        pub counts: bool,
    }

    /// Entries of metadata and configs that are not the same.
    #[derive(Default)]
    pub struct DiffMetadata {
        pub only_a: Vec<String>,
        pub only_b: Vec<String>,
        pub changed: Vec<Changed>,
    }

    /// An entry that both sides have.
    pub struct Changed {
        pub key: String,
        pub a: serde_json::Value,
        pub b: serde_json::Value,
    }
}
