//! The chain of one model: it is translated, its weights are assigned, and that is planned. Types for
//! a size are assigned and planned again until they keep to it; nothing else is repeated.

use std::path::Path;

use super::assign::{Assignment, assign};
use super::plan::{Planned, plan};
use super::plan_report::planned_in_full;
use super::quantize::{Quantizing, lower};
use super::report::forecast;
use super::translate::{Translated, translate};
use super::values::Values;
use super::{ConvertReport, Part, Task};
use crate::config;
use crate::containers::writing::Holds;
use crate::error::{Error, Result};
use crate::model::{Model, Select};
use crate::ops::Dropped;
use crate::ops::refusals::{chosen, refuse_problems};
use crate::pipeline::{Contents, ExtraFile, Place};
use crate::schemes::Additions;

/// How often types are chosen anew for a size that they do not keep to.
const TRIES: usize = 16;

/// What becomes of a model in a folder of the output, the files that are made for it, and a report.
pub(super) fn part(
    model: &Model,
    folder: &str,
    task: &Task<'_>,
) -> Result<(Part, Vec<ExtraFile>, ConvertReport)> {
    refuse_metadata(task)?;
    let mut translated = translate(model, task)?;
    let quantizing = match task.values {
        Values::Quantize { quantizer, how } => {
            refuse_problems(model, &task.options.select, false)?;
            let how = (*quantizer, &**how);
            translated = Quantizing::settle_codes(translated, model, task, how)?;
            Some(Quantizing::new(&translated, model, task, how)?)
        }
        _ => None,
    };
    let (options, is_as_stored) = (task.options, matches!(task.values, Values::AsStored));
    let model = &translated.model;
    let chosen = chosen(model, &options.select, options.skip_unreadable, is_as_stored)?;
    let (assignment, planned) = planned(&translated, quantizing.as_ref(), task, &chosen)?;
    drop(quantizing);
    finished(translated, assignment, planned, chosen.1, (task, folder))
}

/// An error if metadata is asked for that the format cannot hold.
fn refuse_metadata(task: &Task<'_>) -> Result<()> {
    let writer = task.target.writer;
    if task.options.metadata.is_empty() || writer.holds() == Holds::Values {
        return Ok(());
    }
    let message = format!("{} cannot hold typed metadata", writer.format());
    Err(Error::usage(message).in_file(&task.options.target))
}

/// Assigns and plans, until a size is kept to if there is one.
fn planned(
    translated: &Translated,
    quantizing: Option<&Quantizing<'_>>,
    task: &Task<'_>,
    (select, skipped): &(Select, Vec<Dropped>),
) -> Result<(Assignment, Planned)> {
    let goal = quantizing.and_then(Quantizing::goal);
    let mut aim = goal;
    for _ in 0..=TRIES {
        let assignment = assign(translated, quantizing.map(|of| (of, aim)), task, select)?;
        let planned = plan(translated, &assignment, task, skipped.len())?;
        aim = match goal.zip(aim).and_then(|(goal, aim)| lower(goal, aim, &planned.plan)) {
            None => return Ok((assignment, planned)),
            lower => lower,
        };
    }
    Err(Error::usage("it cannot be made as small as that").in_file(translated.model.path()))
}

/// A part with its files and its report.
fn finished(
    translated: Translated,
    assignment: Assignment,
    Planned { mut plan, left_out }: Planned,
    skipped: Vec<Dropped>,
    (task, folder): (&Task<'_>, &str),
) -> Result<(Part, Vec<ExtraFile>, ConvertReport)> {
    match (&task.target.place, &mut plan.files[..]) {
        (Place::File(path), [file]) => {
            file.name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        _ if !folder.is_empty() => plan.move_into(folder),
        _ => {}
    }
    let Translated { model, is_translated, .. } = translated;
    let Assignment { additions, notes, .. } = assignment;
    let mut report = forecast(&model, &task.target, &plan, skipped);
    report.metadata_left_out = left_out;
    report.notes.extend(translated.note.map(str::to_owned));
    report.notes.extend(notes);
    report.plan = task.options.dry_run.then(|| planned_in_full(&task.target, &plan));
    report.dropped.extend(translated.left_out);
    report.not_carried.extend(translated.not_carried);
    let files = with_additions(translated.files, &additions)?;
    let folder = folder.to_owned();
    Ok((Part { model, plan, folder, additions, is_translated }, files, report))
}

/// Files that are made for a model, with what its weights need beside them.
fn with_additions(mut files: Vec<ExtraFile>, additions: &Additions) -> Result<Vec<ExtraFile>> {
    for file in files.iter_mut().filter(|file| file.name == Path::new(config::HUGGING_FACE)) {
        let Contents::Bytes(text) = &file.contents else { continue };
        let added: Vec<_> =
            additions.config_keys.iter().map(|(key, value)| (key.as_str(), value)).collect();
        let change = config::Change { removed: &[], dtype: None, added: &added };
        if let Some(changed) = config::change(text, &change)? {
            file.contents = Contents::Bytes(changed.text);
        }
    }
    if !files.is_empty() {
        let more = additions.files.iter().map(|(name, bytes)| ExtraFile {
            name: name.into(),
            contents: Contents::Bytes(bytes.clone()),
        });
        files.extend(more);
    }
    Ok(files)
}
