//! `weigh inspect MODEL...`.

use std::io::{self, Write};
use std::path::Path;

use weighbridge::internals::text::escaped;
use weighbridge::ops::{InspectOptions, Report};
use weighbridge::{Error, Model, Weight, ops};

use super::{Outcome, after_write, near, stdin};
use crate::args::Unmatched;
use crate::render::json::{Layout, Versioned, json, report};
use crate::render::{Failure, Page, TITLE};
use crate::terminal::{self, Stdout};

mod args;
mod key;
mod metadata;
mod problems;
mod recursive;
mod sarif;
mod sort;
mod summary;
mod tally;
mod tensors;
mod tree;

pub(crate) use args::Inspect;
use recursive::Found;
use tally::Tally;

pub(super) fn run(args: &Inspect) -> Outcome {
    if let Some(key) = &args.key {
        return key::run(args, key);
    }
    let mut tally = Tally::default();
    let written = terminal::print(|out| match args.json.layout() {
        Some(layout) => as_json(args, layout, out, &mut tally),
        None if args.sarif => as_sarif(args, out, &mut tally),
        None => as_text(args, out, &mut tally),
    });
    after_write(written, tally.outcome(args.recursive))
}

fn as_text(args: &Inspect, out: &mut Stdout, tally: &mut Tally) -> io::Result<()> {
    let page = Page::on_terminal(args.verbose);
    let options = options(args, false);
    let mut first = true;
    each_model(args, &options, tally, |looked| {
        let Looked::At(model, seen) = looked else { return Ok(()) };
        if !std::mem::take(&mut first) && !args.quiet {
            writeln!(out)?;
        }
        write(out, &page, args, model, &seen)?;
        out.flush()
    })?;
    if !args.recursive {
        return Ok(());
    }
    if !first && !args.quiet {
        writeln!(out)?;
    }
    writeln!(out, "{tally}")
}

fn as_json(args: &Inspect, layout: Layout, out: &mut Stdout, tally: &mut Tally) -> io::Result<()> {
    let mut all = Vec::new();
    each_model(args, &options(args, args.full_metadata), tally, |looked| {
        let object = Versioned::new(Object::from(looked));
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
        (_, Layout::Lines) if args.recursive => report(out, layout, Scan::summary(tally)),
        (_, Layout::Lines) => Ok(()),
        (results, _) if args.recursive => {
            report(out, layout, Scan { results: Some(results), summary: tally })
        }
        ([only], _) if args.models.len() == 1 => json(out, layout, only),
        (several, _) => json(out, layout, several),
    }
}

fn as_sarif(args: &Inspect, out: &mut Stdout, tally: &mut Tally) -> io::Result<()> {
    let mut log = sarif::Log::default();
    each_model(args, &options(args, false), tally, |looked| {
        match looked {
            Looked::At(model, seen) => log.add(model, &seen.report.problems),
            Looked::Failed(path, error) => log.add_failure(path, error),
        }
        Ok(())
    })?;
    let outcome = tally.outcome(args.recursive);
    json(out, Layout::Indented, &log.finish(tally, outcome))
}

/// The results of `--recursive`, or only their summary.
#[derive(serde::Serialize)]
struct Scan<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<&'a [Versioned<Object>]>,
    summary: &'a Tally,
}

impl<'a> Scan<'a> {
    fn summary(summary: &'a Tally) -> Self {
        Self { results: None, summary }
    }
}

/// The result for one model.
enum Looked<'m> {
    /// It was inspected.
    At(&'m Model, Box<Seen>),
    /// It could not be opened or inspected under this path.
    Failed(&'m Path, &'m Error),
}

/// The report on a model, with its tree.
#[derive(serde::Serialize)]
struct Seen {
    #[serde(flatten)]
    report: Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<Vec<tree::Module>>,
}

impl Seen {
    /// Applies `--sort` and `--tree` to a report.
    fn new(args: &Inspect, mut report: Report) -> Self {
        if let (Some(tensors), Some(by)) = (&mut report.tensors, args.sort) {
            sort::sort(tensors, by);
        }
        let tensors = report.tensors.as_deref().filter(|_| args.tree);
        let tree = tensors.map(tree::of);
        if !args.lists_weights() {
            report.tensors = None;
        }
        Self { report, tree }
    }
}

/// A JSON object for one model.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum Object {
    Report(Box<Seen>),
    Failure(Failure),
}

impl From<Looked<'_>> for Object {
    fn from(looked: Looked<'_>) -> Self {
        match looked {
            Looked::At(_, report) => Self::Report(report),
            Looked::Failed(path, error) => Self::Failure(Failure::new(Some(path), error)),
        }
    }
}

fn options(args: &Inspect, full_metadata: bool) -> InspectOptions {
    let tensors = args.lists_weights() || args.tree;
    InspectOptions { tensors, full_metadata, select: args.select.options() }
}

/// Opens and inspects the models in order. A failure does not stop the others.
fn each_model(
    args: &Inspect,
    options: &InspectOptions,
    tally: &mut Tally,
    mut show: impl FnMut(Looked<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let opener = args.open.options();
    for name in &args.models {
        if args.recursive && name.is_dir() {
            let mut found = |found: Found<'_>| match found {
                Found::Model(model) => look(args, options, model, tally, &mut show),
                Found::Unreadable(path, error) => failed(args, path, error, tally, &mut show),
            };
            tally.files += recursive::walk(&opener, name, &mut found)?;
            continue;
        }
        match stdin::or_all_named(&opener, name) {
            Ok(models) => {
                for model in &models {
                    tally.files += model.sources().len() as u64;
                    look(args, options, model, tally, &mut show)?;
                }
            }
            Err(error) => {
                tally.files += 1;
                failed(args, name, &error, tally, &mut show)?;
            }
        }
    }
    Ok(())
}

/// Inspects one model.
fn look(
    args: &Inspect,
    options: &InspectOptions,
    model: &Model,
    tally: &mut Tally,
    show: &mut impl FnMut(Looked<'_>) -> io::Result<()>,
) -> io::Result<()> {
    match ops::inspect(model, options) {
        Ok(mut report) => {
            let unmatched = unmatched(args, model);
            if !args.is_text() {
                report.notes.extend(unmatched);
            }
            tally.add(&report);
            show(Looked::At(model, Box::new(Seen::new(args, report))))
        }
        Err(error) => failed(args, model.path(), &error, tally, show),
    }
}

/// Reports a model that cannot be read.
fn failed(
    args: &Inspect,
    path: &Path,
    error: &Error,
    tally: &mut Tally,
    show: &mut impl FnMut(Looked<'_>) -> io::Result<()>,
) -> io::Result<()> {
    if args.is_text() {
        terminal::report(error);
    }
    tally.unreadable += 1;
    show(Looked::Failed(path, error))
}

/// Prints notes on rules that match nothing in a model, and returns them.
fn unmatched(args: &Inspect, model: &Model) -> Vec<String> {
    let weights: Vec<Weight> = model.weights().collect();
    let mut unmatched = Unmatched::new(weights.iter().map(Weight::name));
    args.open.check(&[model], &mut unmatched);
    args.select.check(&mut unmatched);
    let notes = unmatched.notes();
    if !args.quiet {
        // With several models, a note names its model.
        let place = (args.recursive || args.models.len() > 1).then(|| model.path());
        terminal::notes(place, &notes);
    }
    notes
}

/// Writes the report on one model: problems, the summary, then the requested lists.
fn write(
    out: &mut dyn Write,
    page: &Page,
    args: &Inspect,
    model: &Model,
    Seen { report, tree }: &Seen,
) -> io::Result<()> {
    if args.quiet && report.problems.is_empty() {
        return Ok(());
    }
    writeln!(out, "{TITLE}{}{TITLE:#}", escaped(&report.path))?;
    problems::write(out, page, &report.problems)?;
    if args.quiet {
        return Ok(());
    }
    if !report.problems.is_empty() {
        problems::next(out, page, &report.problems)?;
        writeln!(out)?;
    }
    summary::write(out, page, report)?;
    if let Some(modules) = tree {
        tree::write(out, page, modules)?;
    }
    if let Some(tensors) = &report.tensors {
        tensors::write(out, page, tensors, args.sort)?;
    }
    if args.metadata || args.full_metadata {
        metadata::write(out, page, args.full_metadata, model)?;
    }
    match &report.would_run {
        Some(names) => summary::would_run(out, page, names),
        None => Ok(()),
    }
}
