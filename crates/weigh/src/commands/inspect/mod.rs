//! `weigh inspect MODEL...`.

use std::io::{self, Write};
use std::path::Path;

use weighbridge::internals::text::escaped;
use weighbridge::ops::{InspectOptions, Report};
use weighbridge::{Error, Model, OpenOptions, ops};

use super::{Outcome, after_write, stdin};
use crate::render::{self, Page, TITLE};
use crate::terminal::{self, Stdout};

mod args;
mod metadata;
mod problems;
mod summary;
mod tensors;

pub(crate) use args::Inspect;

pub(super) fn run(args: &Inspect) -> Outcome {
    let mut outcome = Outcome::Done;
    let written = terminal::print(|out| match args.json {
        true => as_json(args, out, &mut outcome),
        false => as_text(args, out, &mut outcome),
    });
    after_write(written, outcome)
}

fn as_text(args: &Inspect, out: &mut Stdout, outcome: &mut Outcome) -> io::Result<()> {
    let page = Page::on_terminal(args.verbose);
    let options = options(args, false);
    let mut first = true;
    each_model(args, &options, outcome, |model, report| {
        if !std::mem::take(&mut first) && !args.quiet {
            writeln!(out)?;
        }
        write(out, &page, args, model, &report)?;
        out.flush()
    })
}

fn as_json(args: &Inspect, out: &mut Stdout, outcome: &mut Outcome) -> io::Result<()> {
    let mut reports = Vec::new();
    each_model(args, &options(args, args.full_metadata), outcome, |_, report| {
        reports.push(report);
        Ok(())
    })?;
    match &reports[..] {
        [] if args.models.len() == 1 => Ok(()),
        [report] if args.models.len() == 1 => render::json(out, report),
        several => render::json(out, several),
    }
}

fn options(args: &Inspect, full_metadata: bool) -> InspectOptions {
    InspectOptions { tensors: args.tensors, full_metadata, select: args.select.options() }
}

/// Opens and inspects one model after the other; one that fails does not stop the others.
fn each_model(
    args: &Inspect,
    options: &InspectOptions,
    outcome: &mut Outcome,
    mut show: impl FnMut(&Model, Report) -> io::Result<()>,
) -> io::Result<()> {
    let opener = args.open.options();
    for name in &args.models {
        let models = open(&opener, name).unwrap_or_else(|error| {
            terminal::report(&error);
            *outcome = Outcome::Failed;
            Vec::new()
        });
        for model in &models {
            match ops::inspect(model, options) {
                Ok(report) => {
                    let found = !report.problems.is_empty();
                    *outcome = (*outcome).max(if found { Outcome::Found } else { Outcome::Done });
                    show(model, report)?;
                }
                Err(error) => {
                    terminal::report(&error);
                    *outcome = Outcome::Failed;
                }
            }
        }
    }
    Ok(())
}

fn open(opener: &OpenOptions, name: &Path) -> Result<Vec<Model>, Error> {
    match name.as_os_str() == "-" {
        true => stdin::open(opener).map(|model| vec![model]),
        false => opener.open_all(name),
    }
}

/// Writes the report on one model: what is wrong comes first, then what it is, then the lists that
/// were asked for.
fn write(
    out: &mut dyn Write,
    page: &Page,
    args: &Inspect,
    model: &Model,
    report: &Report,
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
        writeln!(out)?;
    }
    summary::write(out, page, report)?;
    if let Some(tensors) = &report.tensors {
        tensors::write(out, page, tensors)?;
    }
    if args.metadata || args.full_metadata {
        metadata::write(out, args.full_metadata, model)?;
    }
    Ok(())
}
