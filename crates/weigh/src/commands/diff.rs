//! `weigh diff A B`.

use std::io::{self, Write as _};
use std::sync::atomic::Ordering;

use weighbridge::Source;
use weighbridge::ops::{self, DiffReport};
use weighbridge::{Error, FileAccess, Model};

use super::convert::Stop;
use super::{Outcome, after_write, progress};
use crate::args::Diff;
use crate::render::{self, Page};
use crate::terminal;

pub(super) fn run(args: &Diff) -> Outcome {
    let stop = Stop::on_interrupt();
    match diff(args, &stop) {
        Ok(report) => after_write(show(args, &report), outcome(&report)),
        Err(error) => {
            terminal::report(&error);
            match stop.asked.load(Ordering::Relaxed) {
                true => Outcome::Interrupted,
                false => Outcome::Failed,
            }
        }
    }
}

/// What could not be compared may be anything: that is worse than a difference.
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
                "a comparison reads both sides where it needs them, which \
                                     standard input cannot do",
            )
            .hint("write it to a file first"));
        }
    }
    // Read by position: a file that is cut short meanwhile is an error and not a signal.
    let opener = args.open.options(FileAccess::Read);
    let (a, b) = (opener.open(&args.a)?, opener.open(&args.b)?);
    stop.begun.store(true, Ordering::Relaxed);
    let bytes = |model: &Model| model.sources().iter().map(Source::file_bytes).sum::<u64>();
    let bar = if args.quiet { None } else { progress::bar_of(bytes(&a) + bytes(&b)) };
    if let Some(bar) = &bar {
        options = options.progress(progress::heard_by(bar));
    }
    let report = ops::diff(&a, &b, &options);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    report
}

fn show(args: &Diff, report: &DiffReport) -> io::Result<()> {
    if args.quiet {
        return Ok(());
    }
    let mut out = terminal::stdout();
    let page = Page {
        width: terminal::width(),
        quiet: false,
        verbose: args.verbose,
        metadata: false,
        full_metadata: false,
    };
    let written = match args.json {
        true => render::json(&mut out, report),
        false => render::diff(&mut out, &page, report, args.sort, args.limit),
    };
    let written = written.and_then(|()| out.flush());
    // A buffer that could not be written must not be tried again when it is dropped.
    drop(out.into_parts());
    written
}
