//! `weigh convert MODEL -o OUT`.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weighbridge::ops::{ConvertOptions, ConvertReport};
use weighbridge::{Error, FileAccess, ops};

use super::{INTERRUPTED, Outcome, after_write, stdin};
use crate::args::Convert;
use crate::render::{self, Page};
use crate::terminal;

pub(super) fn run(args: &Convert) -> Outcome {
    let stopped = stop_flag();
    match convert(args, &stopped) {
        Ok(report) => after_write(show(args, &report), Outcome::Done),
        Err(error) => {
            terminal::report(&error);
            match stopped.load(Ordering::Relaxed) {
                true => Outcome::Interrupted,
                false => Outcome::Failed,
            }
        }
    }
}

fn convert(args: &Convert, stopped: &Arc<AtomicBool>) -> Result<ConvertReport, Error> {
    // Read by position: a file that is cut short meanwhile is an error and not a signal.
    let opener = args.open.options(FileAccess::Read);
    let model = match args.model.as_os_str() == "-" {
        true => {
            refuse_own_input(&args.output)?;
            stdin::open(&opener)?
        }
        false => opener.open(&args.model)?,
    };
    let mut options = ConvertOptions::new(&args.output)
        .dtype(args.dtype.into())
        .force(args.force)
        .dry_run(args.dry_run)
        .cancel(stopped.clone());
    if let Some(select) = args.select.predicate() {
        options = options.select(select);
    }
    ops::convert(&model, &options)
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

fn show(args: &Convert, report: &ConvertReport) -> io::Result<()> {
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
        false => render::convert(&mut out, &page, report, args.dry_run),
    };
    let written = written.and_then(|()| out.flush());
    // A buffer that could not be written must not be tried again when it is dropped.
    drop(out.into_parts());
    written
}

/// A flag that Ctrl-C sets, so that the work can be put away in order. Whoever cannot wait types
/// it twice.
fn stop_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = flag.clone();
    // Without a handler Ctrl-C ends the process at once, which is no worse than before.
    let _ = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
    });
    flag
}
