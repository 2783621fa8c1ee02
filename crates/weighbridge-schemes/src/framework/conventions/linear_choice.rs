//! Which of a model's linear layers are encoded, which stay as they are, and why.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::framework::conventions::linear_layers::{is_linear, is_quantized};
use crate::framework::{Candidate, Encoder, Fate, Request};
use crate::text::escaped;

/// What becomes of a model whose linear layers are encoded.
pub(crate) struct LinearChoice {
    /// What becomes of each weight.
    pub(crate) fates: Vec<Fate>,
    /// The linear layers that stay as they are, by the names of their modules, the last one last.
    pub(crate) plain: Vec<String>,
    /// What users should know.
    pub(crate) notes: Vec<String>,
}

/// The matrix that loaders leave alone, whether a file has it or shares it with the embedding.
const LAST: &str = "lm_head";

/// Encodes the linear layers by what `encoder` gives for each; its error says why one stays.
pub(crate) fn choose_linear(
    request: &Request<'_>,
    encoder: impl Fn(usize, &Candidate<'_>) -> Result<Arc<dyn Encoder>, String>,
) -> Result<LinearChoice> {
    let (mut fates, mut plain, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for (index, weight) in request.weights.iter().enumerate() {
        let module = weight.name.strip_suffix(".weight").unwrap_or(weight.name);
        let wanted = is_quantized(weight) && !(request.keeps)(weight.name);
        let fate = match wanted.then(|| encoder(index, weight)) {
            Some(Ok(encoder)) => Fate::Encode(encoder),
            Some(Err(reason)) => {
                left.push((weight.name, reason));
                Fate::Keep
            }
            None => Fate::Keep,
        };
        if matches!(fate, Fate::Keep) && is_linear(weight) {
            plain.push(module.to_owned());
        }
        fates.push(fate);
    }
    if !fates.iter().any(|fate| matches!(fate, Fate::Encode(_))) {
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

/// Numbers in names count as numbers, so that layer 2 comes before layer 10; what lies outside of
/// all layers comes last.
fn order(name: &str) -> (bool, Vec<(u64, &str)>) {
    let part = |part| (str::parse(part).unwrap_or(u64::MAX), part);
    (!name.contains('.'), name.split('.').map(part).collect())
}

/// A line for each reason.
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
