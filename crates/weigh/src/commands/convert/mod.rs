//! `weigh convert MODEL -o OUT`, and what `dequantize` and `quantize` have in common with it.

use std::io::{self, Write as _};
use std::path::Path;

use weighbridge::internals::text::escaped;
use weighbridge::ops::{Conversion, ConvertOptions, ConvertReport, QuantizeOptions};
use weighbridge::{Error, Model, OpenOptions};

use super::stop::Stop;
use super::{Outcome, after_failure, after_write, progress, standard_output, stdin};
use crate::render::{self as pages, Failure, LABEL, Page};
use crate::{sys, terminal};

mod args;
mod plan;
mod render;

pub(crate) use args::{Convert, Dequantize, OutputArgs};
pub(super) use render::plan_line;

/// A verb that writes.
#[derive(Clone, Copy)]
pub(super) enum Verb<'a> {
    Convert,
    Dequantize { follow_links: bool },
    Quantize(&'a QuantizeOptions),
}

/// What is converted.
enum Source {
    One(Model),
    /// The components of a pipeline.
    Pipeline(Vec<Model>),
}

impl Source {
    fn models(&self) -> &[Model] {
        match self {
            Self::One(model) => std::slice::from_ref(model),
            Self::Pipeline(models) => models,
        }
    }
}

impl Verb<'_> {
    /// Opens a model by its name. Only a directory, or something that is no path, can be a pipeline.
    fn open(self, path: &Path, opener: &OpenOptions) -> Result<Source, Error> {
        if matches!(self, Self::Dequantize { .. })
            && (path.is_dir() || !path.exists())
            && let Some(models) = opener.open_pipeline(path)?
        {
            return Ok(Source::Pipeline(models));
        }
        opener.open(path).map(Source::One)
    }

    fn plan(self, source: &Source, options: &ConvertOptions) -> Result<Conversion, Error> {
        match (self, source) {
            (Self::Convert, Source::One(model)) => Conversion::plan(model, options),
            (Self::Dequantize { .. }, Source::One(model)) => {
                Conversion::plan_dequantized(model, options)
            }
            (Self::Quantize(how), Source::One(model)) => {
                Conversion::plan_quantized(model, options, how)
            }
            (_, Source::Pipeline(models)) => Conversion::plan_dequantized_pipeline(models, options),
        }
    }

    fn follow_links(self) -> bool {
        matches!(self, Self::Dequantize { follow_links: true })
    }
}

pub(super) fn run(args: &Convert, verb: Verb<'_>) -> Outcome {
    let stop = Stop::on_interrupt();
    match convert(args, verb, &stop) {
        Ok(done) => {
            let shown = show(args, verb, &done);
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
        Err(error) => failed(args, &error, stop.failed(&error)),
    }
}

/// The outcome after an error. Where standard output is the model, it is not mixed with JSON.
fn failed(args: &Convert, error: &Error, outcome: Outcome) -> Outcome {
    let (path, json) = (Some(args.model.as_path()), args.output_args.report.json.layout());
    let Some(layout) = json.filter(|_| is_stream(args)) else {
        return after_failure(error, path, json, outcome);
    };
    let mut out = Vec::new();
    let written = Failure::new(path, error).write(&mut out, layout);
    // Nothing is left to be done if standard error is closed.
    let _ = written.and_then(|()| anstream::stderr().write_all(&out));
    outcome
}

fn convert(args: &Convert, verb: Verb<'_>, stop: &Stop) -> Result<ConvertReport, Error> {
    if is_stream(args) && !args.dry_run {
        standard_output::check("a model")?;
    }
    let opener = args.output_args.open.options();
    let model = match stdin::is_meant(&args.model) {
        true => {
            refuse_own_input(&args.output)?;
            Source::One(stdin::open(&opener)?)
        }
        false => verb.open(&args.model, &opener)?,
    };
    stop.begin();
    let unmatched = args.output_args.unmatched(model.models());
    let mut options = args
        .output_args
        .options(&args.output)
        .force(args.force)
        .dry_run(args.dry_run)
        .resume(args.resume)
        .follow_links(verb.follow_links())
        .verify(args.verify)
        .modelfile(args.modelfile)
        .cancel(stop.asked.clone());
    if let Some(bytes) = args.max_output {
        options = options.max_output(bytes);
    }
    let mut conversion = verb.plan(&model, &options)?;
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
    let mut report = written?;
    if args.output_args.report.json.layout().is_some() {
        report.notes.extend(unmatched);
    }
    Ok(report)
}

fn is_right(written: &ConvertReport) -> bool {
    written.verified.as_ref().is_none_or(|verified| verified.ok)
}

/// Whether the model goes to standard output, named as `-` or as `/dev/stdout`.
fn is_stream(args: &Convert) -> bool {
    stdin::is_meant(&args.output) || sys::is_piped_to(&args.output)
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

fn show(args: &Convert, verb: Verb<'_>, done: &ConvertReport) -> io::Result<()> {
    if args.output_args.report.quiet {
        return Ok(());
    }
    if is_stream(args) {
        // Standard output is the model.
        let mut out = Vec::new();
        write(&mut out, args, verb, done, None)?;
        return anstream::stderr().write_all(&out);
    }
    terminal::print(|out| write(out, args, verb, done, terminal::width()))
}

fn write(
    out: &mut dyn io::Write,
    args: &Convert,
    verb: Verb<'_>,
    done: &ConvertReport,
    width: Option<usize>,
) -> io::Result<()> {
    if let Some(layout) = args.output_args.report.json.layout() {
        return pages::json::report(out, layout, done);
    }
    let page = Page { width, verbose: args.output_args.report.verbose };
    if is_right(done) {
        render::write(out, &page, done, args.dry_run)?;
    }
    match &done.verified {
        Some(verified) => super::verify::write(out, &page, verified),
        None => match next(args, verb) {
            Some(command) => writeln!(out, "\n  {LABEL}next:{LABEL:#} {command}"),
            None => Ok(()),
        },
    }
}

/// What can be done with the output: seeing that it is right.
fn next(args: &Convert, verb: Verb<'_>) -> Option<String> {
    let (is_kept, has_name) = (args.output.is_file() || args.output.is_dir(), args.model.exists());
    let is_dequantized = matches!(verb, Verb::Dequantize { .. });
    let can_be = is_kept && has_name && !args.dry_run && !is_stream(args);
    can_be.then(|| super::next::verify(&args.output, &args.model, is_dequantized))?
}
