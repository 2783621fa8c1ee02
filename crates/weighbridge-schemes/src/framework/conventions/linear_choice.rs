//! Chooses which linear layers of a model are encoded.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::framework::conventions::linear_layers::{is_linear, is_quantized};
use crate::framework::{Candidate, Encoder, Request, TypeAssignment};
use crate::text::escaped;

/// The decisions for a model whose linear layers are encoded.
pub(crate) struct LinearChoice {
    /// The decision for each weight.
    pub(crate) fates: Vec<TypeAssignment>,
    /// Modules of the linear layers that are not quantized, the last one last.
    pub(crate) plain: Vec<String>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

/// The matrix that loaders never quantize, whether it is stored or tied to the embedding.
const LAST: &str = "lm_head";

/// Encodes the linear layers with the result of `encoder`, whose error says why one is not
/// quantized.
pub(crate) fn choose_linear(
    request: &Request<'_>,
    encoder: impl Fn(usize, &Candidate<'_>) -> Result<Arc<dyn Encoder>, String>,
) -> Result<LinearChoice> {
    let (mut fates, mut plain, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for (index, weight) in request.weights.iter().enumerate() {
        let module = weight.name.strip_suffix(".weight").unwrap_or(weight.name);
        let wanted = is_quantized(weight) && !(request.keeps)(weight.name);
        let fate = match wanted.then(|| encoder(index, weight)) {
            Some(Ok(encoder)) => TypeAssignment::Encode(encoder),
            Some(Err(reason)) => {
                left.push((weight.name, reason));
                TypeAssignment::Keep
            }
            None => TypeAssignment::Keep,
        };
        if matches!(fate, TypeAssignment::Keep) && is_linear(weight) {
            plain.push(module.to_owned());
        }
        fates.push(fate);
    }
    if !fates.iter().any(|fate| matches!(fate, TypeAssignment::Encode(_))) {
        let why = left.first().map(|(name, reason)| format!(": {}: {reason}", escaped(name)));
        let why = why.unwrap_or_else(|| " (names must be those of transformers)".to_owned());
        return Err(Error::unsupported(format!(
            "the model has no linear layer that this type can store{why}"
        )));
    }
    if !plain.iter().any(|module| module.rsplit('.').next() == Some(LAST)) {
        plain.push(LAST.to_owned());
    }
    plain.sort_by(|a, b| order(a).cmp(&order(b)));
    Ok(LinearChoice { fates, plain, notes: notes(&left) })
}

/// Sort key that compares numbers in names as numbers, so that layer 2 comes before layer 10.
/// Modules outside all layers come last.
fn order(name: &str) -> (bool, Vec<(u64, &str)>) {
    let part = |part| (str::parse(part).unwrap_or(u64::MAX), part);
    (!name.contains('.'), name.split('.').map(part).collect())
}

/// Returns one line per reason.
fn notes(left: &[(&str, String)]) -> Vec<String> {
    let mut reasons: Vec<(&str, &str, usize)> = Vec::new();
    for (name, reason) in left {
        match reasons.iter_mut().find(|(_, known, _)| known == reason) {
            Some((_, _, count)) => *count += 1,
            None => reasons.push((name, reason, 1)),
        }
    }
    let line = |&(name, reason, count): &(&str, &str, usize)| match count {
        1 => format!("{} is not quantized: {reason}", escaped(name)),
        _ => format!("{} and {} more are not quantized: {reason}", escaped(name), count - 1),
    };
    reasons.iter().map(line).collect()
}
