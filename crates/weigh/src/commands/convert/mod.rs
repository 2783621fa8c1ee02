//! `weigh convert MODEL -o OUT` and `weigh dequantize MODEL -o OUT`.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use weighbridge::internals::text::escaped;
use weighbridge::ops::{Conversion, ConvertOptions, ConvertReport};
use weighbridge::{Error, Model};

use super::stop::Stop;
use super::{Outcome, after_write, progress, stdin};
use crate::render::{self as pages, Page};
use crate::{sys, terminal};

mod args;
mod render;

pub(crate) use args::{Convert, Dequantize, OutputArgs};
pub(super) use render::plan_line;

/// A verb that writes: how it is planned, and which links it follows.
#[derive(Clone, Copy)]
pub(super) struct Verb {
    pub(super) plan: fn(&Model, &ConvertOptions) -> Result<Conversion, Error>,
    pub(super) follow_links: bool,
}

pub(super) fn run(args: &Convert, verb: Verb) -> Outcome {
    let stop = Stop::on_interrupt();
    match convert(args, verb, &stop) {
        Ok(done) => {
            let shown = show(args, &done);
            match is_right(&done) {
                true => after_show(args, shown),
                false => {
                    let output = args.output.display().to_string();
                    terminal::note(&format!(
                        "{}: what was written is wrong and deleted",
                        escaped(&output)
                    ));
                    after_write(shown, Outcome::Found)
                }
            }
        }
        Err(error) => stop.failed(&error),
    }
}

fn convert(args: &Convert, verb: Verb, stop: &Stop) -> Result<ConvertReport, Error> {
    if is_stream(args) && !args.dry_run {
        check_standard_output()?;
    }
    let opener = args.output_args.open.options();
    let model = match args.model.as_os_str() == "-" {
        true => {
            refuse_own_input(&args.output)?;
            stdin::open(&opener)?
        }
        false => opener.open(&args.model)?,
    };
    stop.begin();
    let options = args
        .output_args
        .options(&args.output)
        .force(args.force)
        .dry_run(args.dry_run)
        .resume(args.resume)
        .follow_links(verb.follow_links)
        .verify(args.verify)
        .cancel(stop.asked.clone());
    let mut conversion = (verb.plan)(&model, &options)?;
    if args.verify && conversion.is_streamed() {
        return Err(Error::usage("what goes into a stream cannot be read again to verify it")
            .hint("write to a file, or run `weigh verify` on the result"));
    }
    let bar = match args.output_args.report.quiet || args.dry_run {
        true => None,
        false => progress::bar(&conversion),
    };
    if let Some(bar) = &bar {
        conversion = conversion.progress(progress::shown_on(bar));
    }
    let written = conversion.run();
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    written
}

fn is_right(written: &ConvertReport) -> bool {
    written.verified.as_ref().is_none_or(|verified| verified.ok)
}

/// Whether the model goes to standard output, named as `-` or as `/dev/stdout`.
fn is_stream(args: &Convert) -> bool {
    args.output.as_os_str() == "-" || sys::is_piped_to(&args.output)
}

/// An error if standard output is not something that a model can be written to.
fn check_standard_output() -> Result<(), Error> {
    let refused = |problem| Err(Error::usage(problem).in_file(Path::new("standard output")));
    if sys::standard_output_was_closed() {
        return refused("is closed, so a model cannot be written to it");
    }
    match io::stdout().is_terminal() {
        false => Ok(()),
        true => refused("is a terminal, and a model is not written to one")
            .map_err(|error| error.hint("redirect it into a file or a pipe, or name a file")),
    }
}

/// An error if the output is the file that standard input reads: it has no name, so the library
/// cannot tell.
fn refuse_own_input(output: &Path) -> Result<(), Error> {
    match stdin::is_file(output) {
        false => Ok(()),
        true => Err(Error::usage("is the file that standard input reads, and never overwritten")
            .in_file(output)
            .hint("choose another name for the output")),
    }
}

/// The output exists even if the report could not be printed.
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

fn show(args: &Convert, done: &ConvertReport) -> io::Result<()> {
    if args.output_args.report.quiet {
        return Ok(());
    }
    if is_stream(args) {
        // Standard output is the model.
        let mut out = Vec::new();
        write(&mut out, args, done, None)?;
        return anstream::stderr().write_all(&out);
    }
    terminal::print(|out| write(out, args, done, terminal::width()))
}

fn write(
    out: &mut dyn io::Write,
    args: &Convert,
    done: &ConvertReport,
    width: Option<usize>,
) -> io::Result<()> {
    if args.output_args.report.json {
        return pages::json(out, done);
    }
    let page = Page { width, verbose: args.output_args.report.verbose };
    if is_right(done) {
        render::write(out, &page, done, args.dry_run)?;
    }
    match &done.verified {
        Some(verified) => super::verify::write(out, &page, verified),
        None => Ok(()),
    }
}
