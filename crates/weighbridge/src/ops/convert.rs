//! Writes a model's weights as plain numbers into one new file.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde::Serialize;

use super::files::{Beside, Writing};
use super::refusals::{Obstacle, refusal, refuse_problems};
use super::target::Target;
use super::{Dropped, Select};
use crate::error::{Error, Result};
use crate::model::{Model, Weight};
use crate::pipeline::{self, Job, OutputType, Plan, Spread, Types, Work, kept_metadata};

/// The most bytes of data in one file of a directory, unless something else is asked for.
const MAX_SHARD_SIZE: u64 = 5_000_000_000;

/// What is to be written, and where.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// use weighbridge::ops::{ConvertOptions, OutputType};
/// let model = Model::open("model.gguf")?;
/// let options = ConvertOptions::new("model.safetensors").dtype(OutputType::Bf16);
/// let report = ops::convert(&model, &options)?;
/// println!("{} bytes written", report.write_bytes);
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone)]
pub struct ConvertOptions {
    target: PathBuf,
    dtype: OutputType,
    select: Option<Select>,
    force: bool,
    dry_run: bool,
    resume: bool,
    only_decoded: bool,
    max_shard_size: u64,
    threads: Option<NonZeroUsize>,
    progress: Option<Progress>,
    cancel: Option<Arc<AtomicBool>>,
}

/// Hears how many bytes of data have been written so far; called from any thread.
pub type Progress = Arc<dyn Fn(u64) + Send + Sync>;

impl ConvertOptions {
    /// Everything into this file or directory, which must not exist yet, by the rules of
    /// [`OutputType::Auto`]. A name without an extension is a directory, `-` is standard output.
    pub fn new(target: impl Into<PathBuf>) -> Self {
        Self {
            target: target.into(),
            dtype: OutputType::Auto,
            select: None,
            force: false,
            dry_run: false,
            resume: false,
            only_decoded: false,
            max_shard_size: MAX_SHARD_SIZE,
            threads: None,
            progress: None,
            cancel: None,
        }
    }

    /// The type of the numbers.
    #[must_use]
    pub fn dtype(mut self, dtype: OutputType) -> Self {
        self.dtype = dtype;
        self
    }

    pub(super) fn output_type(&self) -> OutputType {
        self.dtype
    }

    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// A named type is for what is decoded; plain tensors stay as they are.
    pub(super) fn only_decoded(mut self) -> Self {
        self.only_decoded = true;
        self
    }

    /// Only the weights whose names are wanted.
    #[must_use]
    pub fn select(mut self, select: Select) -> Self {
        self.select = Some(select);
        self
    }

    /// Replace an existing file, once the new one is complete. The model's own files are never
    /// replaced.
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Plan and report, but write nothing.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Go on with what an interrupted conversion to the same directory has finished.
    #[must_use]
    pub fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    /// The most bytes of data in one file of a directory; 5 GB, otherwise.
    #[must_use]
    pub fn max_shard_size(mut self, bytes: u64) -> Self {
        self.max_shard_size = bytes;
        self
    }

    /// How many threads work; as many as the machine has, otherwise. The output is the same.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Tell how the work goes on.
    #[must_use]
    pub fn progress(mut self, progress: Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Stop soon after this is set, with an error, leaving nothing behind.
    #[must_use]
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = Some(cancel);
        self
    }
}

/// What was written, or would be. The field names are the JSON contract.
#[derive(Debug, Serialize)]
#[allow(missing_docs)] // Each field is described in the guide's JSON section.
pub struct ConvertReport {
    pub files: Vec<WrittenFile>,
    pub conversions: Vec<ConversionReport>,
    pub dropped: Vec<Dropped>,
    pub tied: Vec<Tied>,
    pub metadata_left_out: Vec<String>,
    pub notes: Vec<String>,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub seconds: Option<f64>,
    pub peak_memory: Option<u64>,
    pub overflowed: Option<u64>,
}

/// One file that was written.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct WrittenFile {
    pub path: String,
    pub bytes: u64,
    pub tensors: u64,
}

/// All weights of one scheme and variant that were written in one type.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct ConversionReport {
    pub scheme: &'static str,
    pub variant: String,
    pub dtype: &'static str,
    pub weights: u64,
    pub parameters: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
}

/// A weight that is written once under another weight's name.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Tied {
    pub name: String,
    pub to: String,
}

/// Converts a model. Whatever cannot be converted is an error before any output exists.
pub fn convert(model: &Model, options: &ConvertOptions) -> Result<ConvertReport> {
    convert_with(model, options, &[])
}

/// The same, with more files for a directory: their names and contents.
pub(super) fn convert_with(
    model: &Model,
    options: &ConvertOptions,
    beside: &[Beside],
) -> Result<ConvertReport> {
    let start = Instant::now();
    let target = Target::of(&options.target)?;
    target.check(model, options.force)?;
    refuse_problems(model, options.select.as_ref())?;
    let weights = wanted(model, options)?;
    let metadata = kept_metadata(model)?;
    let spread = match target {
        Target::Folder(_) => Spread::Shards(options.max_shard_size),
        _ => Spread::OneFile,
    };
    let plan = pipeline::plan(
        &weights,
        Types { of: options.dtype, only_decoded: options.only_decoded },
        &metadata.entries,
        spread,
    )
    .map_err(|e| e.in_file(&options.target))?;
    let plan = plan.map_err(|obstacles| {
        let obstacles: Vec<_> = obstacles
            .into_iter()
            .map(|(weight, reason)| {
                let (weight, variant) = (weight.name(), weight.variant());
                Obstacle { weight, variant, part: None, reason }
            })
            .collect();
        refusal(model, &obstacles).unwrap_or_else(|| Error::unsupported("nothing can be written"))
    })?;
    let mut report = forecast(model, &target, &plan);
    report.metadata_left_out = metadata.left_out;
    if !options.dry_run {
        report.overflowed = Some(write(model, &target, &plan, options, beside)?);
        report.seconds = Some(start.elapsed().as_secs_f64());
        report.peak_memory = peak_memory();
    }
    Ok(report)
}

/// The weights that are selected; an error if there are none.
fn wanted<'m>(model: &'m Model, options: &ConvertOptions) -> Result<Vec<Weight<'m>>> {
    let wanted = |name: &str| options.select.as_ref().is_none_or(|select| select(name));
    let weights: Vec<_> = model.weights().filter(|weight| wanted(weight.name())).collect();
    if !weights.is_empty() {
        return Ok(weights);
    }
    let error = match model.weights().len() {
        0 => Error::usage("there is nothing to convert: the model has no weights"),
        all => {
            Error::usage(format!("there is nothing to convert: none of {all} weights is selected"))
                .hint("`weigh inspect --tensors` lists the names")
        }
    };
    Err(error.in_file(model.path()))
}

/// Writes what was planned, and gives the number of finite values that became infinite.
fn write(
    model: &Model,
    target: &Target,
    plan: &Plan<'_>,
    options: &ConvertOptions,
    beside: &[Beside],
) -> Result<u64> {
    let work = Work {
        workers: options.threads.map_or_else(usual_threads, NonZeroUsize::get),
        cancel: options.cancel.as_deref(),
        progress: options.progress.as_deref().map(|progress| progress as _),
    };
    let (force, resume) = (options.force, options.resume);
    Writing { model, plan, work, beside, force, resume }.write(target)
}

fn usual_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// What the plan says about the outcome.
fn forecast(model: &Model, target: &Target, plan: &Plan<'_>) -> ConvertReport {
    let (all, taken) = (model.weights().len(), plan.jobs().count());
    let mut notes = model.notes().to_vec();
    if taken < all {
        notes.push(format!("{taken} of {all} weights are selected, the others are not written"));
    }
    ConvertReport {
        files: plan
            .files
            .iter()
            .map(|file| WrittenFile {
                path: target.path_of(&file.name),
                bytes: file.len,
                tensors: file.jobs.len() as u64,
            })
            .collect(),
        conversions: conversions(plan.jobs()),
        dropped: model
            .dropped()
            .map(|(info, reason)| Dropped {
                name: info.name.to_string(),
                reason: reason.to_owned(),
            })
            .collect(),
        tied: Vec::new(),
        metadata_left_out: Vec::new(),
        notes,
        read_bytes: plan.jobs().map(|job| job.weight.stored_bytes()).fold(0, u64::saturating_add),
        write_bytes: plan.bytes(),
        seconds: None,
        peak_memory: None,
        overflowed: None,
    }
}

fn conversions<'j, 'm: 'j>(jobs: impl Iterator<Item = &'j Job<'m>>) -> Vec<ConversionReport> {
    let mut rows: Vec<ConversionReport> = Vec::new();
    for job in jobs {
        let (weight, dtype) = (&job.weight, job.dtype.name());
        let key = (weight.scheme(), weight.variant(), dtype);
        let known = rows.iter().position(|row| (row.scheme, &*row.variant, row.dtype) == key);
        let index = known.unwrap_or_else(|| {
            rows.push(ConversionReport {
                scheme: weight.scheme(),
                variant: weight.variant().to_owned(),
                dtype,
                weights: 0,
                parameters: 0,
                read_bytes: 0,
                write_bytes: 0,
            });
            rows.len() - 1
        });
        let row = &mut rows[index];
        row.weights += 1;
        row.parameters = row.parameters.saturating_add(weight.elements());
        row.read_bytes = row.read_bytes.saturating_add(weight.stored_bytes());
        row.write_bytes = row.write_bytes.saturating_add(job.bytes);
    }
    rows.sort_by(|a, b| b.write_bytes.cmp(&a.write_bytes).then_with(|| a.variant.cmp(&b.variant)));
    rows
}

/// The most memory this process ever had, where the system says so.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
