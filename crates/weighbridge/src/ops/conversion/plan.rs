//! The plan of an assignment: which tensor goes where, and what the file says about it.

use super::assign::Assignment;
use super::elsewhere;
use super::translate::Translated;
use super::values::Values;
use super::{Task, expansion, split};
use crate::containers::writing::Holds;
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::ops::refusals::{Obstacle, refusal};
use crate::pipeline::{self, HowEncoded, Job, Plan, PlanOptions, set_entry, set_last};
use crate::schemes::SCHEMES;

/// A plan, and what it leaves out.
pub(super) struct Planned {
    pub(super) plan: Plan,
    /// Metadata keys that the format cannot hold.
    pub(super) left_out: Vec<String>,
}

/// Plans what is assigned; `skipped` weights cannot be read.
pub(super) fn plan(
    translated: &Translated,
    assignment: &Assignment,
    task: &Task<'_>,
    skipped: usize,
) -> Result<Planned> {
    let Task { options, values, target, .. } = task;
    let (model, sent) = (&translated.model, elsewhere::held_bytes(target, options));
    let how = if let Values::Quantize { how, .. } = values { Some(how) } else { None };
    let plan_options = PlanOptions {
        writer: target.writer,
        // Metadata of any type says what blocks there are, and is as it must be.
        is_described: translated.is_translated
            || how.is_some() && target.writer.holds() == Holds::Values,
        is_as_stored: matches!(values, Values::AsStored),
        encoding: how.map_or(HowEncoded::CONVERT, |how| how.encoding),
        rename: &|name| options.renamed(name),
        spread: split::spread(target, options),
        stem: target.stem(model),
        streamed: task.streamed,
        workers: options.work.workers(),
        max_memory: options.work.memory_for_tiles(&[model], sent)?,
    };
    let jobs = pipeline::jobs(&assignment.tensors, &plan_options);
    let jobs = jobs.map_err(|found| refused(model, &found))?;
    if jobs.is_empty() {
        return Err(nothing_to_convert(model, skipped));
    }
    let mut metadata = translated.metadata.clone();
    if !translated.is_translated {
        metadata.forget(model.format(), &obsolete_keys(&jobs));
    }
    for (key, value) in &assignment.metadata {
        set_last(&mut metadata.entries, key, value.clone());
    }
    for (key, value) in &options.metadata {
        set_entry(&mut metadata.entries, key, value.clone());
    }
    let plan = pipeline::plan(jobs, metadata.entries, &plan_options);
    let plan = plan.map_err(|e| e.in_file(&options.target))?;
    // What is sent takes half as much again on its way.
    let taken = plan.memory.bytes.saturating_add(sent / 2 * 3);
    options.work.grant_ahead(&[model], taken, plan.held()).map_err(|e| e.in_file(model.path()))?;
    expansion::check(model, options, &plan)?;
    Ok(Planned { plan, left_out: metadata.left_out })
}

/// Metadata keys that only describe how the weights were stored that are now decoded.
fn obsolete_keys(jobs: &[Job]) -> Vec<&'static str> {
    let decoded = jobs.iter().filter(|job| job.leaves_its_scheme());
    let mut names: Vec<&str> = decoded.map(|job| job.scheme().0).collect();
    names.sort_unstable();
    names.dedup();
    SCHEMES.traces(&names).flat_map(|traces| traces.metadata.iter().copied()).collect()
}

fn refused(model: &Model, obstacles: &[pipeline::Obstacle]) -> Error {
    let is_name = obstacles.iter().any(|obstacle| obstacle.is_name);
    let obstacles: Vec<_> = obstacles
        .iter()
        .map(|of| Obstacle::new(&of.name, &of.variant, of.reason.clone()))
        .collect();
    let nothing = || Error::unsupported("no weight can be written");
    let error = refusal(model, &obstacles).unwrap_or_else(nothing);
    if is_name { error.remedy(Remedy::Rename) } else { error }
}

/// The error if no weight is left to write.
fn nothing_to_convert(model: &Model, skipped: usize) -> Error {
    let error = match model.weights().len() {
        _ if skipped > 0 => Error::unsupported(format!(
            "nothing to convert: none of the {skipped} selected weights can be read"
        ))
        .remedy(Remedy::ListProblems),
        0 => Error::usage("nothing to convert: the model has no weights"),
        all => Error::usage(format!("nothing to convert: none of {all} weights is selected"))
            .remedy(Remedy::ListNames),
    };
    error.in_file(model.path())
}
