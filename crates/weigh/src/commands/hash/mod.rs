//! `weigh hash MODEL...`.

use std::io::{self, Write};

use weighbridge::internals::text::escaped;
use weighbridge::ops::{self, HashOptions, HashReport};
use weighbridge::{Error, Model, Source, Weight};

use super::stop::Stop;
use super::{Outcome, after_write, progress, stdin};
use crate::args::Unmatched;
use crate::render::json::{Layout, Versioned, json};
use crate::render::{Failure, TITLE};
use crate::terminal::{self, Stdout};

mod args;

pub(crate) use args::Hash;

pub(super) fn run(args: &Hash) -> Outcome {
    let stop = Stop::on_interrupt();
    let mut outcome = Outcome::Done;
    let written = terminal::print(|out| match args.json.layout() {
        Some(layout) => as_json(args, &stop, layout, out, &mut outcome),
        None => as_text(args, &stop, out, &mut outcome),
    });
    after_write(written, outcome)
}

fn as_text(args: &Hash, stop: &Stop, out: &mut Stdout, outcome: &mut Outcome) -> io::Result<()> {
    each_model(args, stop, outcome, |object| match object {
        Object::Report(report) => {
            write(out, &report)?;
            // Print each hash as soon as it is known.
            out.flush()
        }
        Object::Failure(_) => Ok(()),
    })
}

fn as_json(
    args: &Hash,
    stop: &Stop,
    layout: Layout,
    out: &mut Stdout,
    outcome: &mut Outcome,
) -> io::Result<()> {
    let mut all = Vec::new();
    each_model(args, stop, outcome, |object| {
        let object = Versioned::new(object);
        match layout {
            Layout::Indented => all.push(object),
            Layout::Lines => {
                json(out, layout, &object)?;
                out.flush()?;
            }
        }
        Ok(())
    })?;
    match (&all[..], layout) {
        (_, Layout::Lines) => Ok(()),
        ([only], _) if args.models.len() == 1 => json(out, layout, only),
        (several, _) => json(out, layout, several),
    }
}

/// The result for one model.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum Object {
    Report(Box<HashReport>),
    Failure(Failure),
}

/// Opens and hashes the models in order. A failure does not stop the others; an interrupt does.
fn each_model(
    args: &Hash,
    stop: &Stop,
    outcome: &mut Outcome,
    mut show: impl FnMut(Object) -> io::Result<()>,
) -> io::Result<()> {
    let opener = args.open.options();
    let options = args.options().cancel(stop.asked.clone());
    for name in &args.models {
        let opened = match stdin::or_all_named(&opener, name) {
            Ok(models) => models.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        for model in opened {
            if matches!(outcome, Outcome::Interrupted(_)) {
                return Ok(());
            }
            stop.begin();
            let path = model.as_ref().map_or(name.clone(), |model| model.path().to_owned());
            show(match model.and_then(|model| hash(args, &model, &options)) {
                Ok(report) => Object::Report(Box::new(report)),
                Err(error) => {
                    if args.json.layout().is_none() {
                        terminal::report(&error);
                    }
                    *outcome = (*outcome).max(stop.outcome());
                    Object::Failure(Failure::new(Some(&path), &error))
                }
            })?;
        }
    }
    Ok(())
}

/// Hashes a model and prints notes on it to standard error.
fn hash(args: &Hash, model: &Model, options: &HashOptions) -> Result<HashReport, Error> {
    let bytes = model.sources().iter().map(Source::file_bytes).sum();
    let bar = if args.quiet { None } else { progress::bar_of(bytes) };
    let report = match &bar {
        Some(bar) => ops::hash(model, &options.clone().progress(progress::shown_on(bar))),
        None => ops::hash(model, options),
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let mut report = report?;
    report.notes.extend(unmatched(args, model));
    if !args.quiet {
        // With several models, a note names its model.
        let place = (args.models.len() > 1).then(|| model.path());
        let skipped = |one: &ops::Dropped| format!("skipped {}: {}", one.name, one.reason);
        let notes = report.notes.iter().cloned().chain(report.skipped.iter().map(skipped));
        let notes: Vec<String> = notes.map(|note| escaped(&note).into_owned()).collect();
        terminal::notes(place, &notes);
    }
    Ok(report)
}

/// Notes on rules that match nothing in a model.
fn unmatched(args: &Hash, model: &Model) -> Vec<String> {
    let weights: Vec<Weight> = model.weights().collect();
    let mut unmatched = Unmatched::new(weights.iter().map(Weight::name));
    args.open.check(&[model], &mut unmatched);
    args.select.check(&mut unmatched);
    unmatched.notes()
}

/// Writes a line for the model, in the format of other checksum tools, and one for each weight.
fn write(out: &mut dyn Write, report: &HashReport) -> io::Result<()> {
    match &report.tensors {
        None => writeln!(out, "{}  {}", report.hash, escaped(&report.path)),
        Some(tensors) => {
            writeln!(out, "{TITLE}{}  {}{TITLE:#}", report.hash, escaped(&report.path))?;
            tensors.iter().try_for_each(|weight| {
                writeln!(out, "  {}  {}", weight.hash, escaped(&weight.name))
            })
        }
    }
}
