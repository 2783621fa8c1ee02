//! The chain of one model: it is translated, its weights are assigned, and that is planned. Types for
//! a size are assigned and planned again until they keep to it; nothing else is repeated.

use std::path::Path;

use super::assign::{Assignment, assign};
use super::plan::{Planned, plan};
use super::plan_report::show_plan;
use super::quantize::{Quantizing, lower};
use super::translate::{Translated, translate};
use super::values::Values;
use super::{ConvertReport, Part, Task};
use crate::config;
use crate::containers::writing::Holds;
use crate::error::{Error, Result};
use crate::model::{Model, Select};
use crate::ops::Dropped;
use crate::ops::refusals::{chosen, refuse_problems};
use crate::pipeline::{Contents, ExtraFile, Place, Plan, Target};
use crate::schemes::Additions;

/// How often types are chosen anew for a size that they do not keep to.
const TRIES: usize = 16;

/// What becomes of a model in a folder of the output; adds the files that are made for it, and what
/// is to be said.
pub(super) fn part(
    model: &Model,
    folder: &str,
    task: &Task<'_>,
    (extra, report): (&mut Vec<ExtraFile>, &mut ConvertReport),
) -> Result<Part> {
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
    let Assignment { additions, notes, warnings, .. } = assignment;
    let Planned { mut plan, left_out } = planned;
    name_files(&mut plan, &task.target, folder);
    let Translated { model, is_translated, files, .. } = translated;
    report.forecast(&model, &task.target, &plan, chosen.1);
    translated
        .note
        .into_iter()
        .chain(translated.notes.iter().chain(&notes).map(|note| &**note))
        .for_each(|note| report.note(note));
    report.metadata_left_out.extend(left_out);
    report.dropped.extend(translated.left_out);
    report.not_carried.extend(translated.not_carried);
    translated.warnings.into_iter().chain(warnings).for_each(|warning| report.warn(warning));
    if options.dry_run {
        show_plan(report.plan.get_or_insert_default(), &task.target, &plan);
    }
    extra.extend(with_additions(files, &additions)?);
    let (folder, is_projector) = (folder.to_owned(), false);
    Ok(Part { model, plan, folder, additions, is_translated, is_projector })
}

/// Names a single file as the output is named, and puts the files of a component into its folder.
fn name_files(plan: &mut Plan, target: &Target, folder: &str) {
    match (&target.place, &mut plan.files[..]) {
        (Place::File(path), [file]) => {
            file.name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        _ if !folder.is_empty() => plan.move_into(folder),
        _ => {}
    }
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
    let goal = quantizing.and_then(|of| of.how.goal);
    let mut aim = goal;
    for _ in 0..=TRIES {
        let assignment = assign(translated, quantizing.map(|of| (of, aim)), task, select)?;
        let planned = plan(translated, &assignment, task, skipped.len())?;
        aim = match goal.zip(aim).and_then(|(goal, aim)| lower(goal, aim, &planned.plan)) {
            None => return Ok((assignment, planned)),
            lower => lower,
        };
    }
    Err(Error::usage("the requested size cannot be reached").in_file(translated.model.path()))
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
        let more = additions.files.iter();
        files.extend(more.map(|(name, bytes)| ExtraFile::made(name, bytes.clone())));
    }
    Ok(files)
}
