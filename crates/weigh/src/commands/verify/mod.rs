//! `weigh verify OUT --against MODEL`.

use std::io;

use weighbridge::ops::{self, VerifyReport};
use weighbridge::{Error, FileAccess};

use super::stop::Stop;
use super::{Outcome, after_write, progress};
use crate::render::{self as pages, Page};
use crate::terminal;

mod args;
mod render;

pub(crate) use args::Verify;
pub(super) use render::write;

pub(super) fn run(args: &Verify) -> Outcome {
    let stop = Stop::on_interrupt();
    match verify(args, &stop) {
        Ok(report) => {
            let outcome = if report.ok { Outcome::Done } else { Outcome::Found };
            after_write(show(args, &report), outcome)
        }
        Err(error) => stop.failed(&error),
    }
}

fn verify(args: &Verify, stop: &Stop) -> Result<VerifyReport, Error> {
    let opener = args.output_args.open.options();
    let model = opener.open(&args.against)?;
    // `--scheme` and the like are for the model, not for the output.
    let output = weighbridge::OpenOptions::new().access(FileAccess::Read).open(&args.output)?;
    stop.begin();
    let mut options = args.output_args.options(&args.output).cancel(stop.asked.clone());
    let bytes = output.sources().iter().map(weighbridge::Source::file_bytes).sum();
    let bar = if args.output_args.report.quiet { None } else { progress::bar_of(bytes) };
    if let Some(bar) = &bar {
        options = options.progress(progress::shown_on(bar));
    }
    let report = match args.dequantized {
        true => ops::verify_dequantized(&output, &model, &options),
        false => ops::verify(&output, &model, &options),
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    report
}

fn show(args: &Verify, report: &VerifyReport) -> io::Result<()> {
    if args.output_args.report.quiet {
        return Ok(());
    }
    let page = Page::on_terminal(args.output_args.report.verbose);
    terminal::print(|out| match args.output_args.report.json {
        true => pages::json(out, report),
        false => render::write(out, &page, report),
    })
}
