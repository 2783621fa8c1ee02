//! Refusing to read weights with problems, and the error that says so.
//!
//! A finding about a tensor rules out the weight it is part of. One about the whole model rules out
//! every weight, unless it is known not to affect values.

use std::collections::HashMap;

use crate::catalog::Finding;
use crate::error::{Error, Remedy, Result};
use crate::model::{Model, Select, Weight};
use crate::text::escaped;

/// Findings about a whole model that do not affect its values. Tensors that are affected have
/// findings of their own.
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

/// How many reasons are listed, and how many names for each.
const MOST: usize = 3;

/// A weight that cannot be read or written, and why.
pub(super) struct Obstacle<'m> {
    /// Its name.
    pub(super) weight: &'m str,
    /// Its variant, which the reason may mention.
    pub(super) variant: &'m str,
    /// The stored tensor that the reason is about, if it is only a part of the weight: `its scale
    /// a.scale`.
    pub(super) part: Option<String>,
    /// What is wrong.
    pub(super) reason: String,
    /// Whether naming the scheme would help.
    pub(super) is_ambiguous: bool,
}

/// An error if a problem affects the selected weights. If stored tensors are `only_copied`, only
/// problems of the files themselves count.
pub(super) fn refuse_problems(model: &Model, select: &Select, only_copied: bool) -> Result<()> {
    let findings: Vec<&Finding> = match only_copied {
        true => model.findings_of_files().collect(),
        false => model.findings().iter().collect(),
    };
    if findings.is_empty() {
        return Ok(());
    }
    if let Some(general) = findings.iter().find(|finding| rules_out_all(finding)) {
        return Err(Error::unsupported(general.message.clone())
            .in_file(model.path())
            .remedy(Remedy::ListProblems));
    }
    let (mut obstacles, mut is_cut) = (Vec::new(), false);
    let weights: Vec<Weight> = model.weights().collect();
    let by_stored_name = weights_by_stored_name(model, &weights);
    for finding in &findings {
        let Some(name) = finding.tensor.as_deref() else { continue };
        let found = match by_stored_name.get(name).filter(|_| !only_copied) {
            Some(weights) => weights.iter().copied().filter(|of| select.wants(of.weight)).collect(),
            None if select.wants(name) => vec![Stored { weight: name, variant: "", role: None }],
            None => Vec::new(),
        };
        is_cut |= !found.is_empty() && matches!(finding.kind, "truncated" | "unreadable");
        obstacles.extend(found.into_iter().map(|of| Obstacle {
            weight: of.weight,
            variant: of.variant,
            part: of.role.map(|role| format!("its {role} {}", escaped(name))),
            reason: finding.message.clone(),
            is_ambiguous: finding.remedy() == Some(Remedy::StateScheme),
        }));
    }
    // One message about the file says more than many about its tensors.
    let is_general = |finding: &&&Finding| finding.tensor.is_none() && finding.kind == "truncated";
    match findings.iter().find(is_general).filter(|_| is_cut) {
        Some(cut) => Err(Error::malformed(format!("the file was cut short: {}", cut.message))
            .in_file(model.path())
            .hint("fetch the file again")
            .remedy(Remedy::Exclude)),
        None => refusal(model, &obstacles).map_or(Ok(()), Err),
    }
}

/// The problems by weight; an error if one rules out all weights.
pub(super) fn problems_by_weight<'m>(
    model: &'m Model,
    weights: &'m [Weight],
) -> Result<HashMap<&'m str, String>> {
    let mut problems = HashMap::new();
    if model.findings().is_empty() {
        return Ok(problems);
    }
    if let Some(general) = model.findings().iter().find(|finding| rules_out_all(finding)) {
        return Err(Error::unsupported(general.message.clone())
            .in_file(model.path())
            .remedy(Remedy::ListProblems));
    }
    let by_stored_name = weights_by_stored_name(model, weights);
    for finding in model.findings() {
        let Some(name) = finding.tensor.as_deref() else { continue };
        for of in by_stored_name.get(name).into_iter().flatten() {
            let part = of.role.map_or(String::new(), |role| format!("its {role} {name}: "));
            problems.entry(of.weight).or_insert_with(|| format!("{part}{}", finding.message));
        }
    }
    Ok(problems)
}

fn rules_out_all(finding: &Finding) -> bool {
    finding.tensor.is_none() && !HARMLESS.contains(&finding.kind)
}

/// The part a stored tensor plays in a weight; no role if it has the weight's name.
#[derive(Clone, Copy)]
struct Stored<'m> {
    weight: &'m str,
    variant: &'m str,
    role: Option<&'static str>,
}

/// The weights that each stored tensor belongs to; none for a dropped one.
fn weights_by_stored_name<'m>(
    model: &'m Model,
    weights: &'m [Weight],
) -> HashMap<&'m str, Vec<Stored<'m>>> {
    let mut all = HashMap::<_, Vec<_>>::new();
    for (stored, _) in model.dropped() {
        all.entry(&*stored.name).or_default();
    }
    for weight in weights {
        let stored = |role| Stored { weight: weight.name(), variant: weight.variant(), role };
        let parts = weight.parts().filter(|(_, _, info)| *info.name != *weight.name());
        for (role, _, info) in parts {
            all.entry(&*info.name).or_default().push(stored(Some(role)));
        }
        all.entry(weight.name()).or_default().push(stored(None));
    }
    all
}

/// Obstacles with the same reason.
struct Group<'a> {
    reason: &'a str,
    variants: Vec<&'a str>,
    weights: Vec<String>,
}

/// An error that names weights, and what is wrong with them; `None` if there are none.
pub(super) fn refusal(model: &Model, obstacles: &[Obstacle<'_>]) -> Option<Error> {
    let error = match obstacles {
        [] => return None,
        [only] => {
            let part = only.part.as_ref().map_or(String::new(), |part| format!("{part}: "));
            Error::unsupported(format!("{part}{}", only.reason)).in_tensor(only.weight)
        }
        _ => Error::unsupported(summary(obstacles)),
    };
    let error = match obstacles.iter().any(|obstacle| obstacle.is_ambiguous) {
        true => error.remedy(Remedy::StateScheme),
        false => error,
    };
    Some(error.in_file(model.path()).remedy(Remedy::Exclude))
}

/// `3 weights cannot be converted: a, b: reason; c (its scale d): another`.
fn summary(obstacles: &[Obstacle<'_>]) -> String {
    let mut names: Vec<_> = obstacles.iter().map(|obstacle| obstacle.weight).collect();
    names.sort_unstable();
    names.dedup();
    let groups = groups(obstacles);
    let texts: Vec<_> = groups.iter().take(MOST).map(Group::text).collect();
    let more = match groups.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("; and {more} more reasons"),
    };
    let weights = if names.len() == 1 { "weight" } else { "weights" };
    format!("{} {weights} cannot be converted: {}{more}", names.len(), texts.join("; "))
}

/// Groups equal reasons. A variant named in the reason is ignored when comparing.
fn groups<'a>(obstacles: &'a [Obstacle<'a>]) -> Vec<Group<'a>> {
    let (mut groups, mut known) = (Vec::<Group<'a>>::new(), HashMap::new());
    for Obstacle { weight, variant, part, reason, .. } in obstacles {
        let named = !variant.is_empty() && reason.contains(variant);
        let key = if named { reason.replacen(variant, "\0", 1) } else { reason.clone() };
        let index = *known.entry(key).or_insert_with(|| {
            groups.push(Group { reason, variants: Vec::new(), weights: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[index];
        if named && !group.variants.contains(variant) {
            group.variants.push(variant);
        }
        let part = part.as_ref().map_or(String::new(), |part| format!(" ({part})"));
        group.weights.push(format!("{}{part}", escaped(weight)));
    }
    groups
}

impl Group<'_> {
    /// `a, b and 4 more: reason`.
    fn text(&self) -> String {
        let reason = match &self.variants[..] {
            [first, others @ ..] if !others.is_empty() => {
                self.reason.replacen(first, &listed(&self.variants), 1)
            }
            _ => self.reason.to_owned(),
        };
        format!("{}: {reason}", listed(&self.weights))
    }
}

/// The first few, and how many more there are.
fn listed(names: &[impl AsRef<str>]) -> String {
    let first: Vec<_> = names.iter().take(MOST).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(MOST) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
