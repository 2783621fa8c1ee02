//! `weigh diff A B`.

use std::io;

use weighbridge::Source;
use weighbridge::ops::{self, DiffReport};
use weighbridge::{Error, Model};

use super::stop::Stop;
use super::{Outcome, after_write, progress};
use crate::render::{self as pages, Page};
use crate::terminal;

mod args;
mod changes;
mod cost;
mod headline;
mod modules;
mod render;

pub(crate) use args::Diff;
use render::Shown;

pub(super) fn run(args: &Diff) -> Outcome {
    let stop = Stop::on_interrupt();
    match diff(args, &stop) {
        Ok(report) => after_write(show(args, &report), outcome(&report)),
        Err(error) => stop.failed(&error),
    }
}

/// A weight that could not be compared is worse than a difference: it may be anything.
fn outcome(report: &DiffReport) -> Outcome {
    match (report.summary.undecoded, report.ok) {
        (1.., _) => Outcome::Failed,
        (0, false) => Outcome::Found,
        (0, true) => Outcome::Done,
    }
}

fn diff(args: &Diff, stop: &Stop) -> Result<DiffReport, Error> {
    let mut options = args.options()?.cancel(stop.asked.clone());
    for path in [&args.a, &args.b] {
        if path.as_os_str() == "-" {
            return Err(Error::usage(
                "a comparison reads both models out of order, which standard input does not allow",
            )
            .hint("write it to a file first"));
        }
    }
    let opener = args.open.options();
    let (a, b) = (opener.open(&args.a)?, opener.open(&args.b)?);
    stop.begin();
    let bytes = |model: &Model| model.sources().iter().map(Source::file_bytes).sum::<u64>();
    let bar = if args.report.quiet { None } else { progress::bar_of(bytes(&a) + bytes(&b)) };
    if let Some(bar) = &bar {
        options = options.progress(progress::shown_on(bar));
    }
    let report = ops::diff(&a, &b, &options);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    report
}

fn show(args: &Diff, report: &DiffReport) -> io::Result<()> {
    if args.report.quiet {
        return Ok(());
    }
    let page = Page::on_terminal(args.report.verbose);
    let shown = Shown { counts: args.counts(), sort: args.sort, limit: args.limit };
    terminal::print(|out| match args.report.json {
        true => pages::json(out, report),
        false => render::write(out, &page, report, &shown),
    })
}
