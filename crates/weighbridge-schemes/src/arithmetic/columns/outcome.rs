//! Test helpers: the outcome of a scheme for some tensors and a config.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::config::Config;
pub(crate) use crate::framework::testing::Stored;
use crate::framework::testing::{self, bids, evidence};
use crate::framework::{Scheme, SchemeChoice};

/// Returns the variants that are bid for, and the findings as `tensor: kind: message`.
pub(crate) fn outcome(
    scheme: &dyn Scheme,
    tensors: &[Stored<'_>],
    config: Option<Json>,
) -> (Vec<String>, Vec<String>) {
    with_choices(scheme, tensors, config, &[])
}

/// Returns the outcome if the user states the scheme of every weight.
pub(crate) fn outcome_as(
    scheme: &dyn Scheme,
    tensors: &[Stored<'_>],
    config: Option<Json>,
    says: &str,
) -> (Vec<String>, Vec<String>) {
    let choices = [SchemeChoice::new(Arc::new(|_: &str| true), says.into())];
    with_choices(scheme, tensors, config, &choices)
}

fn with_choices(
    scheme: &dyn Scheme,
    tensors: &[Stored<'_>],
    config: Option<Json>,
    choices: &[SchemeChoice],
) -> (Vec<String>, Vec<String>) {
    let tensors = testing::tensors(tensors);
    let json = config.map(|json| serde_json::json!({"quantization_config": json}));
    let configs: Vec<Config> = json.into_iter().map(testing::config).collect();
    let bids = bids(scheme, &evidence(&tensors, &configs).with_choices(choices));
    let variants = bids.weights.iter().map(|bid| bid.variant.to_string()).collect();
    let told = |f: &crate::catalog::Finding| {
        format!("{}: {}: {}", f.tensor.as_deref().unwrap_or_default(), f.kind, f.message)
    };
    (variants, bids.findings.iter().map(told).collect())
}
