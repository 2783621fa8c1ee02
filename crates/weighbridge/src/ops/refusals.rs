//! Rejects weights with problems, with an error that lists the reasons.
//!
//! A finding about a tensor rules out the weight it is part of. One about the whole model rules out
//! every weight, unless it is known not to affect values.

use std::collections::{HashMap, HashSet};

use super::Dropped;
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

impl<'m> Obstacle<'m> {
    /// A weight that cannot be written, for a reason about all of it.
    pub(super) fn new(weight: &'m str, variant: &'m str, reason: String) -> Self {
        Self { weight, variant, part: None, reason, is_ambiguous: false }
    }
}

/// An error if a problem affects the selected weights. If stored tensors are `only_copied`, only
/// problems of the files themselves count.
pub(super) fn refuse_problems(model: &Model, select: &Select, only_copied: bool) -> Result<()> {
    refuse(model, select, only_copied, ("converted", Remedy::SkipUnreadable))
}

/// Returns an error if the values of these weights cannot be trusted.
///
/// The cause is a problem of one of the weights or of the whole model. Every weight of a dangerous
/// file is rejected.
pub fn refuse_unreadable(model: &Model, names: &[&str]) -> Result<()> {
    let names: HashSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let select = Select::new().include(move |name| names.contains(name));
    refuse(model, &select, false, ("read", Remedy::ListProblems))
}

/// The action in the past participle (`converted`), and the remedy if it is rejected.
type Deed<'a> = (&'a str, Remedy);

/// An error if something is wrong with the selected weights.
fn refuse(model: &Model, select: &Select, only_copied: bool, deed: Deed<'_>) -> Result<()> {
    let findings = findings(model, only_copied)?;
    if findings.is_empty() {
        return Ok(());
    }
    let weights: Vec<Weight> = model.weights().collect();
    let (obstacles, cut) = affected(model, &weights, &findings, select, only_copied);
    let refused = cut.or_else(|| refusal_to(deed.0, model, &obstacles));
    refused.map_or(Ok(()), |error| Err(error.remedy(deed.1)))
}

/// The error for a file that was cut short: one message about the file says more than many about its
/// tensors.
fn cut_short(model: &Model, findings: &[&Finding]) -> Option<Error> {
    let is_general = |finding: &&&Finding| finding.tensor.is_none() && finding.kind == "truncated";
    let cut = findings.iter().find(is_general)?;
    let error = Error::malformed(format!("the file is truncated: {}", cut.message));
    Some(error.in_file(model.path()).hint("fetch the file again").remedy(Remedy::Exclude))
}

/// The selected weights, if all of them can be read; an error otherwise. With `skip`, those that can
/// be read, and the others with the reasons. If their numbers are not `decoded`, only problems of
/// the files themselves count.
pub(super) fn readable(
    model: &Model,
    select: &Select,
    decoded: bool,
    skip: bool,
) -> Result<(Vec<Weight>, Vec<Dropped>)> {
    let findings = findings(model, !decoded)?;
    let all: Vec<Weight> = model.weights().collect();
    let (mut obstacles, cut) = affected(model, &all, &findings, select, false);
    let mut known: HashSet<&str> = obstacles.iter().map(|obstacle| obstacle.weight).collect();
    for weight in all.iter().filter(|_| decoded) {
        let reason = weight.undecodable().filter(|_| select.wants(weight.name()));
        if let Some(reason) = reason.filter(|_| known.insert(weight.name())) {
            obstacles.push(Obstacle::new(weight.name(), weight.variant(), reason));
        }
    }
    if !skip && !obstacles.is_empty() {
        let error = cut.or_else(|| refusal_to("hashed", model, &obstacles));
        return error
            .map_or(Ok((Vec::new(), Vec::new())), |e| Err(e.remedy(Remedy::SkipUnreadable)));
    }
    let weights = all.iter().filter(|weight| select.wants(weight.name()));
    let weights = weights.filter(|weight| !known.contains(weight.name())).cloned().collect();
    Ok((weights, each_once(&obstacles)))
}

/// The weights of obstacles, each with the first reason.
fn each_once(obstacles: &[Obstacle<'_>]) -> Vec<Dropped> {
    let mut known: HashSet<&str> = HashSet::new();
    let first = obstacles.iter().filter(|obstacle| known.insert(obstacle.weight));
    let dropped = first.map(|obstacle| {
        let part = obstacle.part.as_ref().map_or(String::new(), |part| format!("{part}: "));
        let (name, reason) = (obstacle.weight.to_owned(), format!("{part}{}", obstacle.reason));
        Dropped { name, reason }
    });
    dropped.collect()
}

/// The selected weights that cannot be read, each once, with the reason; an error if a problem
/// rules out all. If stored tensors are `only_copied`, only problems of the files themselves count.
pub(super) fn unreadable(
    model: &Model,
    select: &Select,
    only_copied: bool,
) -> Result<Vec<Dropped>> {
    let findings = findings(model, only_copied)?;
    let weights: Vec<Weight> = model.weights().collect();
    let (obstacles, _) = affected(model, &weights, &findings, select, only_copied);
    let mut known: HashSet<&str> = obstacles.iter().map(|obstacle| obstacle.weight).collect();
    let mut all = each_once(&obstacles);
    // Numbers that cannot be decoded can still be copied.
    let decoded = weights.iter().filter(|weight| !weight.is_plain() || weight.native().is_none());
    for weight in decoded.filter(|weight| !only_copied && select.wants(weight.name())) {
        if let Some(reason) = weight.undecodable().filter(|_| known.insert(weight.name())) {
            all.push(Dropped { name: weight.name().to_owned(), reason });
        }
    }
    Ok(all)
}

/// The weights to be read, and those that are left out because they cannot be: an error for these,
/// unless they are to be skipped.
pub(super) fn chosen(
    model: &Model,
    select: &Select,
    skip: bool,
    only_copied: bool,
) -> Result<(Select, Vec<Dropped>)> {
    if !skip {
        return refuse_problems(model, select, only_copied).map(|()| (select.clone(), Vec::new()));
    }
    let skipped = unreadable(model, select, only_copied)?;
    Ok((without(select, &skipped), skipped))
}

/// A choice of weights without those that cannot be read.
fn without(select: &Select, unreadable: &[Dropped]) -> Select {
    let names: HashSet<String> = unreadable.iter().map(|one| one.name.clone()).collect();
    if names.is_empty() {
        return select.clone();
    }
    select.clone().exclude(move |name| names.contains(name))
}

/// The findings that count; an error if one rules out all weights.
fn findings(model: &Model, only_copied: bool) -> Result<Vec<&Finding>> {
    let mut findings: Vec<&Finding> = if only_copied {
        model.findings_of_files().collect()
    } else {
        model.findings().iter().collect()
    };
    findings.extend(model.unlike_twins()?);
    match findings.iter().find(|finding| rules_out_all(finding)) {
        Some(general) => Err(refused_by(general, model)),
        None => Ok(findings),
    }
}

/// The selected weights that findings are about, and the error if some of their bytes are missing.
fn affected<'m>(
    model: &'m Model,
    weights: &'m [Weight],
    findings: &[&'m Finding],
    select: &Select,
    only_copied: bool,
) -> (Vec<Obstacle<'m>>, Option<Error>) {
    let (mut obstacles, mut is_cut) = (Vec::new(), false);
    let by_stored_name = weights_by_stored_name(model, weights);
    for finding in findings {
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
    (obstacles, cut_short(model, findings).filter(|_| is_cut))
}

/// The problems by weight; an error if one rules out all weights.
pub(super) fn problems_by_weight<'m>(
    model: &'m Model,
    weights: &'m [Weight],
) -> Result<HashMap<&'m str, String>> {
    let mut problems = HashMap::new();
    let twins = model.unlike_twins()?;
    if model.findings().is_empty() && twins.is_empty() {
        return Ok(problems);
    }
    if let Some(general) = model.findings().iter().find(|finding| rules_out_all(finding)) {
        return Err(refused_by(general, model));
    }
    let by_stored_name = weights_by_stored_name(model, weights);
    for finding in model.findings().iter().chain(twins) {
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

/// The error for a finding that rules out all weights.
fn refused_by(finding: &Finding, model: &Model) -> Error {
    let error = match finding.kind {
        "wrong-checksum" => {
            Error::malformed(&*finding.message).hint("the file is damaged; fetch it again")
        }
        _ => Error::unsupported(&*finding.message),
    };
    error.in_file(model.path()).remedy(Remedy::ListProblems)
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

/// An error that names weights that are not converted, and what is wrong with them; `None` if there
/// are none.
pub(super) fn refusal(model: &Model, obstacles: &[Obstacle<'_>]) -> Option<Error> {
    refusal_to("converted", model, obstacles)
}

fn refusal_to(done: &str, model: &Model, obstacles: &[Obstacle<'_>]) -> Option<Error> {
    let error = match obstacles {
        [] => return None,
        [only] => {
            let part = only.part.as_ref().map_or(String::new(), |part| format!("{part}: "));
            Error::unsupported(format!("{part}{}", only.reason)).in_tensor(only.weight)
        }
        _ => Error::unsupported(summary(done, obstacles)),
    };
    let is_ambiguous = obstacles.iter().any(|obstacle| obstacle.is_ambiguous);
    let error = if is_ambiguous { error.remedy(Remedy::StateScheme) } else { error };
    Some(error.in_file(model.path()).remedy(Remedy::Exclude))
}

/// `3 weights cannot be converted: a, b: reason; c (its scale d): another`.
fn summary(done: &str, obstacles: &[Obstacle<'_>]) -> String {
    let mut names: Vec<_> = obstacles.iter().map(|obstacle| obstacle.weight).collect();
    names.sort_unstable();
    names.dedup();
    let groups = merged(groups(obstacles));
    let text = |(reason, weights): &(String, Vec<String>)| format!("{}: {reason}", listed(weights));
    let texts: Vec<_> = groups.iter().take(MOST).map(text).collect();
    let more = match groups.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!("; and {more} more reasons"),
    };
    let weights = if names.len() == 1 { "weight" } else { "weights" };
    format!("{} {weights} cannot be {done}: {}{more}", names.len(), texts.join("; "))
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

/// Reasons in words, each once, with their weights. Two groups can have the same words.
fn merged(groups: Vec<Group<'_>>) -> Vec<(String, Vec<String>)> {
    let (mut merged, mut known) = (Vec::<(String, Vec<String>)>::new(), HashMap::new());
    for group in groups {
        let reason = group.reason();
        let index = *known.entry(reason.clone()).or_insert(merged.len());
        match merged.get_mut(index) {
            Some((_, weights)) => weights.extend(group.weights),
            None => merged.push((reason, group.weights)),
        }
    }
    merged
}

impl Group<'_> {
    /// The reason, with every variant that it applies to.
    fn reason(&self) -> String {
        match &self.variants[..] {
            [first, others @ ..] if !others.is_empty() => {
                self.reason.replacen(first, &listed(&self.variants), 1)
            }
            _ => self.reason.to_owned(),
        }
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
