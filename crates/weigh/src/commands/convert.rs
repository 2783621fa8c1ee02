//! `weigh convert MODEL -o OUT` and `weigh dequantize MODEL -o OUT`.

use std::error::Error as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weighbridge::ops::{ConvertOptions, ConvertReport};
use weighbridge::{Error, FileAccess, Model};

use super::{INTERRUPTED, Outcome, after_write, progress, stdin};
use crate::args::Convert;
use crate::render::{self, Page};
use crate::terminal;

/// What is to be done.
pub(super) type Verb = fn(&Model, &ConvertOptions) -> Result<ConvertReport, Error>;

pub(super) fn run(args: &Convert, verb: Verb) -> Outcome {
    let stop = Stop::on_interrupt();
    match convert(args, verb, &stop) {
        Ok(report) => after_show(args, show(args, &report)),
        // Whoever reads a stream may stop reading early.
        Err(error) if is_stream(args) && is_closed_pipe(&error) => Outcome::Done,
        Err(error) => {
            terminal::report(&error);
            match stop.asked.load(Ordering::Relaxed) {
                true => Outcome::Interrupted,
                false => Outcome::Failed,
            }
        }
    }
}

fn convert(args: &Convert, verb: Verb, stop: &Stop) -> Result<ConvertReport, Error> {
    // Read by position: a file that is cut short meanwhile is an error and not a signal.
    let opener = args.open.options(FileAccess::Read);
    let model = match args.model.as_os_str() == "-" {
        true => {
            refuse_own_input(&args.output)?;
            stdin::open(&opener)?
        }
        false => opener.open(&args.model)?,
    };
    stop.begun.store(true, Ordering::Relaxed);
    let mut options = ConvertOptions::new(&args.output)
        .dtype(args.dtype.into())
        .force(args.force)
        .dry_run(args.dry_run)
        .resume(args.resume)
        .cancel(stop.asked.clone());
    if let Some(select) = args.select.predicate() {
        options = options.select(select);
    }
    if let Some(bytes) = args.max_shard_size {
        options = options.max_shard_size(bytes);
    }
    if let Some(threads) = args.threads {
        options = options.threads(threads);
    }
    // The length of the bar is that of the plan.
    let planned = || verb(&model, &options.clone().dry_run(true));
    let bar = match args.quiet || args.dry_run {
        true => None,
        false => progress::bar(planned),
    };
    if let Some(bar) = &bar {
        options = options.progress(progress::heard_by(bar));
    }
    let report = verb(&model, &options);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    report
}

fn is_stream(args: &Convert) -> bool {
    args.output.as_os_str() == "-"
}

fn is_closed_pipe(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The library knows the model's files by their names; one redirected to us has none.
fn refuse_own_input(output: &Path) -> Result<(), Error> {
    match stdin::is_file(output) {
        false => Ok(()),
        true => Err(Error::usage("is what standard input reads, and never written over")
            .in_file(output)
            .hint("choose another name for the output")),
    }
}

/// The output is there even if nobody could be told.
fn after_show(args: &Convert, shown: io::Result<()>) -> Outcome {
    match shown {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe && !args.dry_run => {
            let what = format!(
                "{} was written and is complete, but the report cannot be written to standard output",
                args.output.display()
            );
            terminal::report(&Error::io(error, &what));
            Outcome::Failed
        }
        shown => after_write(shown, Outcome::Done),
    }
}

fn show(args: &Convert, report: &ConvertReport) -> io::Result<()> {
    if args.quiet {
        return Ok(());
    }
    if is_stream(args) {
        // Standard output is the model.
        return show_on_stderr(args, report);
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
        false => render::convert(&mut out, &page, report, args.dry_run),
    };
    let written = written.and_then(|()| out.flush());
    // A buffer that could not be written must not be tried again when it is dropped.
    drop(out.into_parts());
    written
}

fn show_on_stderr(args: &Convert, report: &ConvertReport) -> io::Result<()> {
    let mut out = Vec::new();
    match args.json {
        true => render::json(&mut out, report)?,
        false => {
            let page = Page {
                width: None,
                quiet: false,
                verbose: args.verbose,
                metadata: false,
                full_metadata: false,
            };
            render::convert(&mut out, &page, report, args.dry_run)?;
        }
    }
    anstream::stderr().write_all(&out)
}

/// What Ctrl-C does: while the model is opened it ends the process; after that it asks the work to
/// be put away in order. Whoever cannot wait types it twice.
struct Stop {
    begun: Arc<AtomicBool>,
    asked: Arc<AtomicBool>,
}

impl Stop {
    fn on_interrupt() -> Self {
        let [begun, asked] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let stop = Self { begun: begun.clone(), asked: asked.clone() };
        // Without a handler Ctrl-C ends the process at once, which is no worse than before.
        let _ = ctrlc::set_handler(move || {
            if asked.swap(true, Ordering::Relaxed) || !begun.load(Ordering::Relaxed) {
                weighbridge::output::discard_unfinished();
                std::process::exit(INTERRUPTED.into());
            }
            terminal::note("stopping; Ctrl-C again ends at once");
        });
        stop
    }
}
