//! `weigh convert MODEL -o OUT`, and the code it shares with `dequantize` and `quantize`.

use std::io::{self, Write as _};
use std::path::Path;

use weighbridge::internals::text::escaped;
use weighbridge::ops::{Conversion, ConvertOptions, ConvertReport, QuantizeOptions};
use weighbridge::{Error, Model, OpenOptions};

use super::quantize::How;
use super::stop::Stop;
use super::{Outcome, after_failure, after_write, progress, standard_output, stdin};
use crate::render::{self as pages, Failure, LABEL, Page};
use crate::{sys, terminal};

mod args;
mod plan;
mod render;

pub(crate) use args::{Convert, Dequantize, OutputArgs};
pub(super) use render::plan_line;

/// A command that writes a model.
#[derive(Clone, Copy)]
pub(super) enum Verb<'a> {
    Convert,
    Dequantize { follow_links: bool },
    Quantize(&'a QuantizeOptions, &'a How),
}

/// The input of a conversion.
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
    /// Opens a model by its name. Only a directory or an address can be a pipeline.
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
            (Self::Quantize(how, _), Source::One(model)) => {
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
            if is_right(&done) {
                after_show(args, shown)
            } else {
                let output = args.output.display().to_string();
                terminal::note(&format!(
                    "{}: verification failed; the output was deleted",
                    escaped(&output)
                ));
                after_write(shown, Outcome::Found)
            }
        }
        Err(error) => failed(args, &error, stop.outcome()),
    }
}

/// The outcome after an error. If standard output carries the model, JSON goes to standard error.
fn failed(args: &Convert, error: &Error, outcome: Outcome) -> Outcome {
    let (path, json) = (Some(args.model.as_path()), args.output_args.report.json.layout());
    let Some(layout) = json.filter(|_| is_stream(args)) else {
        return after_failure(error, path, json, outcome);
    };
    let mut out = Vec::new();
    let written = Failure::new(path, error).write(&mut out, layout);
    // If standard error is closed, there is nowhere left to report to.
    let _ = written.and_then(|()| anstream::stderr().write_all(&out));
    outcome
}

fn convert(args: &Convert, verb: Verb<'_>, stop: &Stop) -> Result<ConvertReport, Error> {
    if is_stream(args) && !args.dry_run {
        standard_output::check("a model")?;
    }
    let opener = args.output_args.open.options();
    let model = if stdin::is_meant(&args.model) {
        reject_own_input(&args.output)?;
        Source::One(stdin::open(&opener)?)
    } else {
        verb.open(&args.model, &opener)?
    };
    stop.begin();
    let mut unmatched = args.output_args.unmatched(model.models());
    let mut options = args
        .output_args
        .options(&args.output)
        .force(args.force)
        .dry_run(args.dry_run)
        .resume(args.resume)
        .follow_links(verb.follow_links())
        .verify(args.verify)
        .modelfile(args.modelfile)
        .allow_lossy_config(args.allow_lossy_config)
        .cancel(stop.asked.clone());
    if let Some(bytes) = args.max_output {
        options = options.max_output(bytes);
    }
    let mut conversion = verb.plan(&model, &options)?;
    if let Verb::Quantize(_, how) = verb {
        let notes = how.unmatched(&conversion);
        unmatched.extend(args.output_args.report.say(notes));
    }
    if args.verify && conversion.is_streamed() {
        return Err(Error::usage("cannot verify an output that is written to a stream")
            .hint("write to a file, or run `weigh verify` afterwards"));
    }
    let is_silent = args.output_args.report.quiet || args.dry_run;
    let bar = if is_silent { None } else { progress::bar(&conversion) };
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

/// Whether the model goes to standard output: `-` or `/dev/stdout`.
fn is_stream(args: &Convert) -> bool {
    stdin::is_meant(&args.output) || sys::is_piped_to(&args.output)
}

/// Rejects an output that is the file behind standard input. The library cannot check this, because
/// standard input has no path.
fn reject_own_input(output: &Path) -> Result<(), Error> {
    if stdin::is_file(output) {
        return Err(Error::usage("cannot overwrite the file that standard input reads")
            .in_file(output)
            .hint("choose another output name"));
    }
    Ok(())
}

/// The outcome after printing the report. The output is complete even if printing fails.
fn after_show(args: &Convert, shown: io::Result<()>) -> Outcome {
    match shown {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe && !args.dry_run => {
            let what = format!(
                "{} is complete, but the report cannot be written to standard output",
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
        // Standard output carries the model.
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
        None => match next(args, verb, done) {
            Some(command) => writeln!(out, "\n  {LABEL}next:{LABEL:#} {command}"),
            None => Ok(()),
        },
    }
}

/// The command that verifies the output.
fn next(args: &Convert, verb: Verb<'_>, done: &ConvertReport) -> Option<String> {
    // A file that was split is opened by one of its parts.
    let part = done.files.first().filter(|_| done.files.len() > 1 && !args.output.is_dir());
    let output = part.map_or(args.output.as_path(), |part| Path::new(&part.path));
    let (is_kept, has_name) = (output.is_file() || output.is_dir(), args.model.exists());
    let is_dequantized = matches!(verb, Verb::Dequantize { .. });
    let can_be = is_kept && has_name && !args.dry_run && !is_stream(args);
    can_be.then(|| super::next::verify(output, &args.model, is_dequantized))?
}
