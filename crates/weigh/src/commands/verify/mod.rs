//! `weigh verify OUT --against MODEL`.

use std::io;
use std::path::Path;

use weighbridge::ops::{self, ConvertOptions, VerifyReport};
use weighbridge::{Error, FileAccess, Model, OpenOptions};

use super::stop::Stop;
use super::{Outcome, after_failure, after_write, progress};
use crate::render::{self as pages, LABEL, Page};
use crate::terminal;

mod args;
mod render;

pub(crate) use args::Verify;
pub(super) use render::write;

pub(super) fn run(args: &Verify) -> Outcome {
    let stop = Stop::on_interrupt();
    match verify(args, &stop) {
        Ok((report, notes)) => {
            let outcome = if report.ok { Outcome::Done } else { Outcome::Found };
            after_write(show(args, &report, notes), outcome)
        }
        Err(error) => {
            let json = args.output_args.report.json.layout();
            after_failure(&error, Some(&args.output), json, stop.outcome())
        }
    }
}

/// The output and its source.
enum Pair {
    Models(Model, Model),
    Pipelines(Vec<Model>, Vec<Model>),
}

impl Pair {
    fn open(args: &Verify) -> Result<Self, Error> {
        let opener = args.output_args.open.options();
        // `--scheme` and similar options apply to the source only.
        let plain = OpenOptions::new().access(FileAccess::Read);
        let pipeline = |opener: &OpenOptions, path: &Path| {
            if path.is_dir() || !path.exists() { opener.open_pipeline(path) } else { Ok(None) }
        };
        if let Some(outputs) = pipeline(&plain, &args.output)?
            && let Some(models) = pipeline(&opener, &args.against)?
        {
            return Ok(Self::Pipelines(outputs, models));
        }
        let model = opener.open(&args.against)?;
        Ok(Self::Models(plain.open(&args.output)?, model))
    }

    fn outputs(&self) -> &[Model] {
        match self {
            Self::Models(output, _) => std::slice::from_ref(output),
            Self::Pipelines(outputs, _) => outputs,
        }
    }

    fn models(&self) -> &[Model] {
        match self {
            Self::Models(_, model) => std::slice::from_ref(model),
            Self::Pipelines(_, models) => models,
        }
    }

    fn compare(&self, args: &Verify, options: &ConvertOptions) -> Result<VerifyReport, Error> {
        let to_type = args.to_type.as_deref();
        match self {
            Self::Models(output, model) if to_type.is_some() || args.how.is_for_a_size() => {
                ops::verify_quantized(output, model, options, &args.how.options(to_type))
            }
            pair => pair.compare_decoded(args, options),
        }
    }

    fn compare_decoded(
        &self,
        args: &Verify,
        options: &ConvertOptions,
    ) -> Result<VerifyReport, Error> {
        match self {
            Self::Pipelines(outputs, models) => ops::verify_pipeline(outputs, models, options),
            Self::Models(output, model) if args.output_args.to_layout.is_some() => {
                ops::verify(output, model, options)
            }
            Self::Models(output, model)
                if args.dequantized || ops::was_dequantized(output, model) =>
            {
                ops::verify_dequantized(output, model, options)
            }
            Self::Models(output, model) => ops::verify(output, model, options),
        }
    }
}

/// The report, and notes on rules that match nothing.
fn verify(args: &Verify, stop: &Stop) -> Result<(VerifyReport, Vec<String>), Error> {
    let pair = Pair::open(args)?;
    stop.begin();
    let unmatched = args.output_args.unmatched(pair.models());
    let mut options = args.output_args.options(&args.output).cancel(stop.asked.clone());
    let sources = pair.outputs().iter().flat_map(Model::sources);
    let bytes = sources.map(weighbridge::Source::file_bytes).sum();
    let bar = if args.output_args.report.quiet { None } else { progress::bar_of(bytes) };
    if let Some(bar) = &bar {
        options = options.progress(progress::shown_on(bar));
    }
    let report = pair.compare(args, &options);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok((report?, unmatched))
}

/// The report with notes on the options.
#[derive(serde::Serialize)]
struct WithNotes<'a> {
    #[serde(flatten)]
    report: &'a VerifyReport,
    notes: Vec<String>,
}

fn show(args: &Verify, report: &VerifyReport, notes: Vec<String>) -> io::Result<()> {
    if args.output_args.report.quiet {
        return Ok(());
    }
    let page = Page::on_terminal(args.output_args.report.verbose);
    terminal::print(|out| match args.output_args.report.json.layout() {
        Some(layout) => pages::json::report(out, layout, WithNotes { report, notes }),
        None => {
            render::write(out, &page, report)?;
            if report.mismatched.is_empty() { Ok(()) } else { next(out, args) }
        }
    })
}

/// Suggests `weigh diff` for values that differ. It does not support pipelines.
fn next(out: &mut dyn io::Write, args: &Verify) -> io::Result<()> {
    if args.output_args.open.options().open_pipeline(&args.against).is_ok_and(|of| of.is_some()) {
        return Ok(());
    }
    let words = [&args.against, &args.output].map(|path| super::next::quoted(path.as_os_str()));
    match words {
        [Some(model), Some(output)] => {
            writeln!(out, "  {LABEL}next:{LABEL:#} weigh diff {model} {output}")
        }
        _ => Ok(()),
    }
}
