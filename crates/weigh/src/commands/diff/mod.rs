//! `weigh diff A B`.

use std::io;
use std::path::{Path, PathBuf};

use weighbridge::Source;
use weighbridge::ops::{self, DiffReport};
use weighbridge::{Error, Model, OpenOptions};

use super::stop::Stop;
use super::{Outcome, after_failure, after_write, progress, stdin};
use crate::render::{self as pages, Page};
use crate::terminal;

mod args;
mod changes;
mod cost;
mod headline;
mod modules;
mod reencoded;
mod render;
mod settings;

pub(crate) use args::Diff;
use render::Shown;

pub(super) fn run(args: &Diff) -> Outcome {
    let stop = Stop::on_interrupt();
    match diff(args, &stop) {
        Ok(report) => after_write(show(args, &report), outcome(&report)),
        Err((error, path)) => {
            after_failure(&error, path, args.report.json.layout(), stop.outcome())
        }
    }
}

/// The outcome. A weight that cannot be compared is an error, which is worse than a difference.
fn outcome(report: &DiffReport) -> Outcome {
    match (report.summary.undecoded, report.ok) {
        (1.., _) => Outcome::Failed,
        (0, false) => Outcome::Found,
        (0, true) => Outcome::Done,
    }
}

/// Compares the models. An error comes with the path of its model, if it concerns only one.
fn diff<'a>(args: &'a Diff, stop: &Stop) -> Result<DiffReport, (Error, Option<&'a Path>)> {
    let of_both = |error| (error, None);
    let mut options = args.options().map_err(of_both)?.cancel(stop.asked.clone());
    let opener = args.open.options();
    let open =
        |path: &'a PathBuf| opened(&opener, path).map_err(|error| (error, Some(path.as_path())));
    let (a, b) = (open(&args.a)?, open(&args.b)?);
    stop.begin();
    let unmatched = args.unmatched(&a, &b);
    let bytes = |model: &Model| model.sources().iter().map(Source::file_bytes).sum::<u64>();
    let bar = if args.report.quiet { None } else { progress::bar_of(bytes(&a) + bytes(&b)) };
    if let Some(bar) = &bar {
        options = options.progress(progress::shown_on(bar));
    }
    let report = ops::diff(&a, &b, &options);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let mut report = report.map_err(of_both)?;
    if args.report.json.layout().is_some() {
        report.notes.extend(unmatched);
    }
    Ok(report)
}

fn opened(opener: &OpenOptions, path: &Path) -> Result<Model, Error> {
    if stdin::is_meant(path) {
        return Err(Error::usage("cannot compare standard input: `diff` needs random access")
            .hint("write it to a file first"));
    }
    opener.open(path)
}

fn show(args: &Diff, report: &DiffReport) -> io::Result<()> {
    if args.report.quiet {
        return Ok(());
    }
    let page = Page::on_terminal(args.report.verbose);
    let shown = Shown { counts: args.counts(), sort: args.sort, limit: args.limit };
    terminal::print(|out| match args.report.json.layout() {
        Some(layout) => pages::json::report(out, layout, report),
        None => render::write(out, &page, report, &shown),
    })
}
