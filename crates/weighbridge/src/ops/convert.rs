//! Writes a model's weights as plain numbers into one new file.

use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use serde::Serialize;

use super::refusals::{Obstacle, refusal, refuse_problems};
use super::{Dropped, Select};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::output::{Output, is_same_file, refuse_existing};
use crate::pipeline::{self, Job, OutputType, Plan, Stream, Work, kept_metadata};

/// What this version can write.
const WRITES: &str = "this version writes one safetensors file: give a name like out.safetensors";

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
    threads: Option<NonZeroUsize>,
    progress: Option<Progress>,
    cancel: Option<Arc<AtomicBool>>,
}

/// Hears how many bytes of data have been written so far; called from any thread.
pub type Progress = Arc<dyn Fn(u64) + Send + Sync>;

impl ConvertOptions {
    /// Everything into this file, which must not exist yet, by the rules of [`OutputType::Auto`];
    /// `-` is standard output.
    pub fn new(target: impl Into<PathBuf>) -> Self {
        Self {
            target: target.into(),
            dtype: OutputType::Auto,
            select: None,
            force: false,
            dry_run: false,
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
    let start = Instant::now();
    check_target(model, options)?;
    refuse_problems(model, options.select.as_ref())?;
    let wanted = |name: &str| options.select.as_ref().is_none_or(|select| select(name));
    let weights: Vec<_> = model.weights().filter(|weight| wanted(weight.name())).collect();
    if weights.is_empty() {
        let error = match model.weights().len() {
            0 => Error::usage("there is nothing to convert: the model has no weights"),
            all => Error::usage(format!(
                "there is nothing to convert: none of {all} weights is selected"
            ))
            .hint("`weigh inspect --tensors` lists the names"),
        };
        return Err(error.in_file(model.path()));
    }
    let metadata = kept_metadata(model)?;
    let plan = pipeline::plan(&weights, options.dtype, &metadata.entries)
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
    let mut report = forecast(model, options, &plan);
    report.metadata_left_out = metadata.left_out;
    if !options.dry_run {
        report.overflowed = Some(write(&plan, options)?);
        report.seconds = Some(start.elapsed().as_secs_f64());
        report.peak_memory = peak_memory();
    }
    Ok(report)
}

fn write(plan: &Plan<'_>, options: &ConvertOptions) -> Result<u64> {
    let work = Work {
        workers: options.threads.map_or_else(usual_threads, NonZeroUsize::get),
        cancel: options.cancel.as_deref(),
        progress: options.progress.as_deref().map(|progress| progress as _),
    };
    if is_stream(&options.target) {
        let stream = Stream::new(std::io::stdout(), &plan.header)?;
        let overflowed = pipeline::run(&plan.jobs, &stream, work)?;
        stream.finish(plan.len)?;
        return Ok(overflowed);
    }
    let output = Output::create(&options.target, plan.len)?;
    output.write_at(0, &plan.header)?;
    let overflowed = pipeline::run(&plan.jobs, &output, work)?;
    output.finish(options.force)?;
    Ok(overflowed)
}

/// Whether the output goes to standard output.
fn is_stream(target: &Path) -> bool {
    target.as_os_str() == "-"
}

fn usual_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// An error unless the output has a name that can be written.
fn check_target(model: &Model, options: &ConvertOptions) -> Result<()> {
    let target = &*options.target;
    if is_stream(target) {
        return Ok(());
    }
    let extension = target.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let problem = match extension.as_deref() {
        _ if target.is_dir() => Some("the output cannot be a directory".to_owned()),
        Some("safetensors") => None,
        Some(other) => Some(format!("the output cannot be a .{other} file")),
        None => Some("the output needs a name that ends in .safetensors".to_owned()),
    };
    if let Some(problem) = problem {
        return Err(Error::unsupported(problem).in_file(target).hint(WRITES));
    }
    let is_input = |name: &Path| is_same_file(name, target);
    if model.sources().iter().any(|source| is_input(source.input().name())) {
        return Err(Error::usage("is a file of the model itself, and never written over")
            .in_file(target)
            .hint("choose another name for the output"));
    }
    check_folder(target)?;
    match options.force {
        true => Ok(()),
        false => refuse_existing(target),
    }
}

/// An error if the directory of the output is not there.
fn check_folder(target: &Path) -> Result<()> {
    let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    match folder.metadata() {
        Err(e) if e.kind() == ErrorKind::NotFound => Err(Error::io(e, "cannot create")
            .in_file(target)
            .hint(format!("the directory {} does not exist", folder.display()))),
        // Creating the file says what else may be wrong.
        _ => Ok(()),
    }
}

/// What the plan says about the outcome.
fn forecast(model: &Model, options: &ConvertOptions, plan: &Plan<'_>) -> ConvertReport {
    let (all, taken) = (model.weights().len(), plan.jobs.len());
    let mut notes = model.notes().to_vec();
    if taken < all {
        notes.push(format!("{taken} of {all} weights are selected, the others are not written"));
    }
    ConvertReport {
        files: vec![WrittenFile {
            path: options.target.to_string_lossy().into_owned(),
            bytes: plan.len,
            tensors: taken as u64,
        }],
        conversions: conversions(&plan.jobs),
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
        read_bytes: plan
            .jobs
            .iter()
            .map(|job| job.weight.stored_bytes())
            .fold(0, u64::saturating_add),
        write_bytes: plan.len,
        seconds: None,
        peak_memory: None,
        overflowed: None,
    }
}

fn conversions(jobs: &[Job<'_>]) -> Vec<ConversionReport> {
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
