//! Writes a model's weights into a new file or directory.

use std::io::Write;
use std::time::Instant;

use super::convert_options::ConvertOptions;
use super::convert_report::{ConvertReport, forecast};
use super::files::{Beside, Writing};
use super::refusals::{self, refusal, refuse_problems};
use super::target::{Place, Target};
use crate::containers::writing::{Held, Holds};
use crate::dtype::DType;
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::pipeline::{
    self, Action, Job, OutputType, Plan, Pool, Spread, Types, Wishes, kept_metadata,
};
use crate::schemes;

/// Converts a model. Whatever cannot be converted is an error before any output exists.
pub fn convert(model: &Model, options: &ConvertOptions) -> Result<ConvertReport> {
    Conversion::of(model, options)?.run(&[], None)
}

/// Converts a model into anything that can be written front to back, such as a `Vec<u8>`. The
/// name of the output does not count; the format is safetensors, unless another is
/// [asked for](ConvertOptions::to).
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// use weighbridge::ops::ConvertOptions;
/// let mut bytes = Vec::new();
/// ops::convert_to(&Model::open("small.gguf")?, &ConvertOptions::new("-"), &mut bytes)?;
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub fn convert_to(
    model: &Model,
    options: &ConvertOptions,
    mut out: impl Write + Send,
) -> Result<ConvertReport> {
    let options = ConvertOptions { target: "-".into(), ..options.clone() };
    Conversion::of(model, &options)?.run(&[], Some(&mut out))
}

/// A conversion that was planned.
pub(super) struct Conversion<'m> {
    model: &'m Model,
    options: ConvertOptions,
    target: Target,
    pub(super) plan: Plan<'m>,
    left_out: Vec<String>,
    start: Instant,
}

impl<'m> Conversion<'m> {
    /// Plans one, unless something stands against it.
    pub(super) fn of(model: &'m Model, options: &ConvertOptions) -> Result<Self> {
        let start = Instant::now();
        let usual = options.same_format.then(|| model.format());
        let target = Target::of(&options.target, options.to.as_deref(), usual)?;
        target.check(model, options.force)?;
        let (plan, left_out) = planned(model, options, &target)?;
        Ok(Self { model, options: options.clone(), target, plan, left_out, start })
    }

    /// Does it, with more files for a directory; to `out`, where the output is a stream.
    pub(super) fn run(
        self,
        beside: &[Beside],
        out: Option<&mut (dyn Write + Send)>,
    ) -> Result<ConvertReport> {
        let mut report = forecast(self.model, &self.target, &self.plan);
        report.metadata_left_out = self.left_out;
        if self.options.dry_run {
            return Ok(report);
        }
        let pool = Pool {
            workers: self.plan.memory.workers,
            cancel: self.options.cancel.as_deref(),
            progress: self.options.progress.as_deref().map(|progress| progress as _),
            done_before: 0,
        };
        let (force, resume) = (self.options.force, self.options.resume);
        let writing = Writing { model: self.model, plan: &self.plan, pool, beside, force, resume };
        report.overflowed = Some(writing.write(&self.target, out)?);
        report.seconds = Some(self.start.elapsed().as_secs_f64());
        report.peak_memory = crate::sys::peak_memory();
        Ok(report)
    }
}

/// The plan, and the metadata that finds no place in it.
pub(super) fn planned<'m>(
    model: &'m Model,
    options: &ConvertOptions,
    target: &Target,
) -> Result<(Plan<'m>, Vec<String>)> {
    let keeps = options.dtype == OutputType::Keep;
    check_options(options, target)?;
    refuse_problems(model, options.select.as_ref(), keeps)?;
    let wishes = Wishes {
        writer: target.writer,
        types: Types {
            of: options.dtype,
            only_decoded: options.only_decoded,
            casts: &options.casts,
            usual: crate::config::model_dtype(model.configs())
                .filter(|dtype| options.only_decoded && *dtype == DType::F16),
        },
        rename: &|name| options.renamed(name),
        select: &|name| options.is_selected(name),
        spread: match target.place {
            Place::Folder(_) => Spread::Shards(options.max_shard_size),
            _ => Spread::OneFile,
        },
        stem: target.stem(model),
        streamed: target.place == Place::Stream,
        workers: options.workers(),
        max_memory: options.max_memory,
    };
    let jobs = pipeline::jobs(model, &wishes).map_err(|found| refused(model, &found))?;
    if jobs.is_empty() {
        return Err(nothing(model));
    }
    let done = done_with(&jobs);
    let mut metadata = kept_metadata(model, target.writer, &done)?;
    for (key, value) in &options.metadata {
        let held = Held::Value(value.clone());
        match metadata.entries.iter_mut().find(|(known, _)| known == key) {
            Some(entry) => entry.1 = held,
            None => metadata.entries.push((key.clone(), held)),
        }
    }
    let plan = pipeline::plan(jobs, metadata.entries, &wishes);
    Ok((plan.map_err(|e| e.in_file(&options.target))?, metadata.left_out))
}

fn check_options(options: &ConvertOptions, target: &Target) -> Result<()> {
    if options.dtype == OutputType::Keep && !options.casts.is_empty() {
        return Err(
            Error::usage("what is kept as it is stored cannot be cast").remedy(Remedy::KeepOrCast)
        );
    }
    if !options.metadata.is_empty() && target.writer.holds() != Holds::Values {
        let format = target.writer.format();
        return Err(
            Error::usage(format!("{format} cannot hold typed metadata")).in_file(&options.target)
        );
    }
    Ok(())
}

/// Metadata keys that only say how weights were stored that are decoded now.
fn done_with(jobs: &[Job<'_>]) -> Vec<&'static str> {
    let decoded = jobs.iter().filter(|job| job.action == Action::Decode);
    let mut names: Vec<&str> = decoded.map(|job| job.scheme().0).collect();
    names.sort_unstable();
    names.dedup();
    schemes::traces(&names).flat_map(|traces| traces.metadata.iter().copied()).collect()
}

fn refused(model: &Model, obstacles: &[pipeline::Obstacle]) -> Error {
    let obstacles: Vec<_> = obstacles
        .iter()
        .map(|pipeline::Obstacle { name, variant, reason }| refusals::Obstacle {
            weight: name,
            variant,
            part: None,
            reason: reason.clone(),
            is_ambiguous: false,
        })
        .collect();
    refusal(model, &obstacles).unwrap_or_else(|| Error::unsupported("nothing can be written"))
}

/// There is nothing that could be written.
fn nothing(model: &Model) -> Error {
    let error = match model.weights().len() {
        0 => Error::usage("there is nothing to convert: the model has no weights"),
        all => {
            Error::usage(format!("there is nothing to convert: none of {all} weights is selected"))
                .remedy(Remedy::ListNames)
        }
    };
    error.in_file(model.path())
}
