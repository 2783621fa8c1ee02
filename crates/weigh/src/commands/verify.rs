//! `weigh verify OUT --against MODEL`.

use std::io::{self, Write as _};
use std::sync::atomic::Ordering;

use weighbridge::ops::{self, VerifyReport};
use weighbridge::{Error, FileAccess};

use super::convert::Stop;
use super::{Outcome, after_write, progress};
use crate::args::Verify;
use crate::render::{self, Page};
use crate::terminal;

pub(super) fn run(args: &Verify) -> Outcome {
    let stop = Stop::on_interrupt();
    match verify(args, &stop) {
        Ok(report) => {
            let outcome = if report.ok { Outcome::Done } else { Outcome::Found };
            after_write(show(args, &report), outcome)
        }
        Err(error) => {
            terminal::report(&error);
            match stop.asked.load(Ordering::Relaxed) {
                true => Outcome::Interrupted,
                false => Outcome::Failed,
            }
        }
    }
}

fn verify(args: &Verify, stop: &Stop) -> Result<VerifyReport, Error> {
    let opener = args.wishes.open.options(FileAccess::Read);
    let model = opener.open(&args.against)?;
    // What answers a question about the model is no question of the output.
    let output = weighbridge::OpenOptions::new().access(FileAccess::Read).open(&args.output)?;
    stop.begun.store(true, Ordering::Relaxed);
    let mut options = args.wishes.options(&args.output).cancel(stop.asked.clone());
    let bytes = output.sources().iter().map(weighbridge::Source::file_bytes).sum();
    let bar = if args.wishes.quiet { None } else { progress::bar_of(bytes) };
    if let Some(bar) = &bar {
        options = options.progress(progress::heard_by(bar));
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
    if args.wishes.quiet {
        return Ok(());
    }
    let mut out = terminal::stdout();
    let page = Page {
        width: terminal::width(),
        quiet: false,
        verbose: args.wishes.verbose,
        metadata: false,
        full_metadata: false,
    };
    let written = match args.wishes.json {
        true => render::json(&mut out, report),
        false => render::verify(&mut out, &page, report),
    };
    let written = written.and_then(|()| out.flush());
    // A buffer that could not be written must not be tried again when it is dropped.
    drop(out.into_parts());
    written
}
