//! `weigh inspect MODEL...`.

use std::io::{self, Write as _};
use std::path::Path;

use weighbridge::ops::{InspectOptions, Report};
use weighbridge::{Error, FileAccess, Model, OpenOptions, ops};

use super::{Outcome, after_write, stdin};
use crate::args::Inspect;
use crate::render::{self, Page};
use crate::terminal::{self, Stdout};

pub(super) fn run(args: &Inspect) -> Outcome {
    let mut out = terminal::stdout();
    let mut outcome = Outcome::Done;
    let written = match args.json {
        true => as_json(args, &mut out, &mut outcome),
        false => as_text(args, &mut out, &mut outcome),
    };
    let written = written.and_then(|()| out.flush());
    // A buffer that could not be written must not be tried again when it is dropped.
    drop(out.into_parts());
    after_write(written, outcome)
}

fn as_text(args: &Inspect, out: &mut Stdout, outcome: &mut Outcome) -> io::Result<()> {
    let page = Page {
        width: terminal::width(),
        quiet: args.quiet,
        verbose: args.verbose,
        metadata: args.metadata || args.full_metadata,
        full_metadata: args.full_metadata,
    };
    let options = options(args, false);
    let mut first = true;
    each_model(args, &options, outcome, |model, report| {
        if !std::mem::take(&mut first) && !args.quiet {
            writeln!(out)?;
        }
        render::report(out, &page, model, &report)?;
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
    InspectOptions { tensors: args.tensors, full_metadata, select: args.select.predicate() }
}

/// Opens and inspects one model after the other; one that fails does not stop the others.
fn each_model(
    args: &Inspect,
    options: &InspectOptions,
    outcome: &mut Outcome,
    mut show: impl FnMut(&Model, Report) -> io::Result<()>,
) -> io::Result<()> {
    let opener = args.open.options(FileAccess::Map);
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
