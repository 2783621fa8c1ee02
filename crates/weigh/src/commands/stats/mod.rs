//! `weigh stats MODEL`.

use std::io;

use weighbridge::ops::{self, StatsReport};
use weighbridge::{Error, Source};

use super::stop::Stop;
use super::{Outcome, after_failure, after_write, progress, stdin};
use crate::render::{self as pages, Page};
use crate::terminal;

mod args;
mod render;

pub(crate) use args::Stats;

pub(super) fn run(args: &Stats) -> Outcome {
    let stop = Stop::on_interrupt();
    match stats(args, &stop) {
        Ok(report) => after_write(show(args, &report), outcome(&report)),
        Err(error) => {
            let layout = args.report.json.layout();
            after_failure(&error, Some(&args.model), layout, stop.outcome())
        }
    }
}

/// The outcome. Only NaN and infinite values count: other anomalies may be intended.
fn outcome(report: &StatsReport) -> Outcome {
    match report.nan + report.infinite {
        0 => Outcome::Done,
        _ => Outcome::Found,
    }
}

fn stats(args: &Stats, stop: &Stop) -> Result<StatsReport, Error> {
    let model = stdin::or_named(&args.open.options(), &args.model)?;
    stop.begin();
    let unmatched = args.unmatched(&model);
    let mut options = args.options().cancel(stop.asked.clone());
    let bytes = model.sources().iter().map(Source::file_bytes).sum();
    let bar = if args.report.quiet { None } else { progress::bar_of(bytes) };
    if let Some(bar) = &bar {
        options = options.progress(progress::shown_on(bar));
    }
    let report = ops::stats(&model, &options);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let mut report = report?;
    if args.report.json.layout().is_some() {
        report.notes.extend(unmatched);
    }
    Ok(report)
}

fn show(args: &Stats, report: &StatsReport) -> io::Result<()> {
    if args.report.quiet {
        return Ok(());
    }
    let page = Page::on_terminal(args.report.verbose);
    terminal::print(|out| match args.report.json.layout() {
        Some(layout) => pages::json::report(out, layout, report),
        None => render::write(out, &page, args.limit, report),
    })
}
