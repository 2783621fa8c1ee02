//! What a command that reads values refuses to touch, and how it says so.
//!
//! A finding about a tensor speaks against the weight it is part of; one about the whole model
//! speaks against every weight, unless it is known to leave values alone.

use std::collections::HashMap;

use super::Select;
use crate::catalog::Finding;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::text::escaped;

/// Findings about a model as a whole that do not put its values in doubt. What such a one says of
/// single tensors is found at the tensors too.
const HARMLESS: &[&str] = &[
    "duplicate-key",
    "duplicate-record",
    "metadata",
    "misaligned",
    "several-pickles",
    "signed",
    "trailing-bytes",
    "truncated",
    "unknown-global",
    "unsorted",
];

/// How many reasons are given, and how many names for each.
const MOST: usize = 3;

/// An error if the model has a problem that concerns what is wanted of it.
pub(super) fn refuse_problems(model: &Model, select: Option<&Select>) -> Result<()> {
    if model.findings().is_empty() {
        return Ok(());
    }
    let wanted = |name: &str| select.is_none_or(|select| select(name));
    // A stored tensor counts for the weights it is part of, not for its own name.
    let mut by_stored_name = HashMap::new();
    for (stored, _) in model.dropped() {
        by_stored_name.insert(&*stored.name, false);
    }
    for weight in model.weights() {
        let is_wanted = wanted(weight.name());
        for name in weight.parts().map(|(_, _, info)| &*info.name).chain([weight.name()]) {
            *by_stored_name.entry(name).or_default() |= is_wanted;
        }
    }
    let concerns = |finding: &&Finding| match finding.tensor.as_deref() {
        Some(name) => by_stored_name.get(name).copied().unwrap_or_else(|| wanted(name)),
        None => !HARMLESS.contains(&finding.kind),
    };
    let problems: Vec<_> = model.findings().iter().filter(concerns).collect();
    if let Some(general) = problems.iter().find(|finding| finding.tensor.is_none()) {
        return Err(Error::unsupported(general.message.clone())
            .in_file(model.path())
            .hint("`weigh inspect` lists all problems of the model"));
    }
    let of_tensors =
        problems.iter().filter_map(|f| Some((f.tensor.as_deref()?, f.message.clone())));
    match refusal(model, &of_tensors.collect::<Vec<_>>()) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// An error that names tensors, and what is wrong with them; `None` if there are none.
pub(super) fn refusal(model: &Model, tensors: &[(&str, String)]) -> Option<Error> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut known = HashMap::new();
    for (name, reason) in tensors {
        let index = *known.entry(reason).or_insert_with(|| {
            reasons.push((reason, Vec::new()));
            reasons.len() - 1
        });
        reasons[index].1.push(name);
    }
    let error = match &reasons[..] {
        [] => return None,
        [(reason, names)] if names.len() == 1 => Error::unsupported(*reason).in_tensor(names[0]),
        _ => Error::unsupported(summary(&reasons)),
    };
    let error = error.in_file(model.path());
    Some(error.hint("--exclude RE leaves out the weights whose names match"))
}

/// `3 tensors cannot be converted: a, b: reason; c: another`.
fn summary(reasons: &[(&str, Vec<&str>)]) -> String {
    let mut all: Vec<_> = reasons.iter().flat_map(|(_, names)| names).collect();
    all.sort_unstable();
    all.dedup();
    let groups = reasons.iter().take(MOST).map(|(reason, names)| {
        let listed: Vec<_> = names.iter().take(MOST).map(|name| escaped(name)).collect();
        let more = match names.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more}: {reason}", listed.join(", "))
    });
    let groups = groups.collect::<Vec<_>>().join("; ");
    let more = match reasons.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("; and {more} more reasons, see `weigh inspect`"),
    };
    format!("{} tensors cannot be converted: {groups}{more}", all.len())
}
