//! Writes a model's weights into a new file or directory.

use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::convert_options::ConvertOptions;
use super::convert_report::{ConvertReport, forecast};
use super::elsewhere;
use super::expansion;
use super::planned_report::planned_in_full;
use super::quantize::{self, Quantized, ToQuantize};
use super::rearrange::{self, Rearranged};
use super::refusals::{self, refusal, refuse_problems, unreadable, without};
use super::translate::{self, Translated};
use super::verify::verify_planned;
use super::{Dropped, OnProgress, Progress};
use crate::config;
use crate::containers::writing::Holds;
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::output::{Destination, Leftover, LocalFile, LocalFolder, Stream, WriteOrder};
use crate::pipeline::{
    self, Contents, ExtraFile, HowEncoded, Job, Kept, OutputType, Place, Plan, PlanOptions, Spread,
    Target, Types, Writing, kept_metadata, set_entry,
};
use crate::schemes::{Additions, SCHEMES};
use crate::sys::{peak_memory, standard_output};

/// Converts a model. Whatever cannot be converted is an error before any output exists.
pub fn convert(model: &Model, options: &ConvertOptions) -> Result<ConvertReport> {
    Conversion::plan(model, options)?.run()
}

/// Converts a model into anything that can be written front to back, such as a `Vec<u8>`. The
/// target in the options is ignored; [`ConvertOptions::to`] chooses a format other than the default.
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
    out: impl Write + Send,
) -> Result<ConvertReport> {
    let options = ConvertOptions { target: "-".into(), ..options.clone() };
    let stream = Stream::new(out);
    Conversion::plan_for(model, &options, &stream)?.run_into(&stream)
}

/// A planned conversion: look at its [report](Self::report), then run it.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// let model = Model::open("model.gguf")?;
/// let conversion = ops::Conversion::plan(&model, &ops::ConvertOptions::new("out.safetensors"))?;
/// println!("{} bytes in {} files", conversion.report().write_bytes, conversion.report().files.len());
/// conversion.run()?;
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub struct Conversion {
    pub(super) options: ConvertOptions,
    pub(super) target: Target,
    /// What becomes of each model; several are the components of a pipeline.
    pub(super) parts: Vec<Part>,
    /// Files that go into a directory beside the weights.
    pub(super) extra: Vec<ExtraFile>,
    pub(super) report: ConvertReport,
    start: Instant,
}

/// A model, and what becomes of it.
pub(super) struct Part {
    pub(super) model: Model,
    pub(super) plan: Plan,
    /// The folder of the output that its files go into; empty for the output itself.
    pub(super) folder: String,
    /// What a repository needs beside its weights, besides what their encoders say.
    pub(super) additions: Additions,
    /// Whether what lies beside its weights is made, not copied.
    pub(super) is_translated: bool,
}

impl Conversion {
    /// Plans a conversion to the target in the options. If it is impossible, the error says why and
    /// names every weight that cannot be written.
    pub fn plan(model: &Model, options: &ConvertOptions) -> Result<Self> {
        Self::of_one(model, options, |target| {
            target.check(model, options.force)?;
            Ok(target.is_in_turn())
        })
    }

    /// Plans a conversion to another destination. The target in the options only decides whether it
    /// is one file or a directory, and the format.
    pub fn plan_for(
        model: &Model,
        options: &ConvertOptions,
        destination: &dyn Destination,
    ) -> Result<Self> {
        let streamed = destination.order() == WriteOrder::FrontToBack;
        Self::of_one(model, options, |_| Ok(streamed))
    }

    /// Plans a conversion of models, each into a folder of the output.
    pub(super) fn planned(
        models: &[(&Model, String)],
        options: &ConvertOptions,
        check: impl FnOnce(&Target) -> Result<bool>,
    ) -> Result<Self> {
        let start = Instant::now();
        let target_of = |model: Option<&Model>| {
            let usual = model.filter(|_| options.same_format).map(Model::format);
            Target::of(&options.target, options.to.as_deref(), usual)
        };
        let target = target_of(models.first().map(|(model, _)| *model))?;
        let streamed = check(&target)?;
        let (mut parts, mut report) = (Vec::new(), ConvertReport::default());
        let mut extra: Vec<ExtraFile> = Vec::new();
        for (model, folder) in models {
            let target = target_of(Some(model))?;
            let (mut translated, quantized) = shaped(model, options, &target)?;
            let files = translated.as_mut().map(|of| std::mem::take(&mut of.files));
            let kept = translated.is_none().then(|| translate::note_of_kept(model, &target));
            let model = translated.as_ref().map_or(*model, |translated| &translated.model);
            let rearranged = rearrange::rearranged(model, options)?;
            let as_what = Shape {
                translated: translated.as_ref(),
                quantized: quantized.as_ref(),
                rearranged: rearranged.as_ref(),
            };
            let Planned { mut plan, left_out, skipped } =
                planned(model, options, &target, streamed, &as_what)?;
            expansion::check(model, options, &plan)?;
            match (&target.place, &mut plan.files[..]) {
                (Place::File(path), [file]) => {
                    let name = path.file_name().unwrap_or_default();
                    file.name = name.to_string_lossy().into_owned();
                }
                _ if !folder.is_empty() => plan.move_into(folder),
                _ => {}
            }
            let mut own = forecast(model, &target, &plan, skipped);
            own.metadata_left_out = left_out;
            own.notes.extend(kept.flatten().map(str::to_owned));
            own.plan = options.dry_run.then(|| planned_in_full(&target, &plan));
            own.dropped.extend(translated.iter().flat_map(|of| of.left_out.iter().cloned()));
            own.not_carried.extend(translated.iter().flat_map(|of| of.not_carried.iter().cloned()));
            let mut files = files.unwrap_or_default();
            let additions = match quantized {
                Some(quantized) => {
                    own.notes.extend(quantized.notes);
                    quantized.additions
                }
                None => rearranged.map_or_else(Additions::default, |of| {
                    own.notes.extend(of.notes);
                    of.additions
                }),
            };
            describe_made(&mut files, &additions)?;
            extra.extend(files);
            report.add(own);
            let (folder, is_translated) = (folder.clone(), translated.is_some());
            parts.push(Part { model: model.clone(), plan, folder, additions, is_translated });
        }
        report.made = extra.iter().map(|file| file.name.to_string_lossy().into_owned()).collect();
        let options = options.clone();
        let mut planned = Self { options, target, parts, extra, report, start };
        planned.plan_modelfile()?;
        planned.report_cost();
        Ok(planned)
    }

    /// Says what quantizing costs, as far as that is known.
    fn report_cost(&mut self) {
        if let Some(how) = &self.options.quantize {
            let jobs: Vec<&Job> = self.parts.iter().flat_map(|part| part.plan.jobs()).collect();
            self.report.quantized = Some(quantize::report(&how.name, &jobs));
        }
    }

    /// What it will do: the files and their sizes, how weights are converted, what is left out.
    #[must_use]
    pub fn report(&self) -> &ConvertReport {
        &self.report
    }

    /// Bytes of data: the total that progress counts to.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.plan.data_bytes()).fold(0, u64::saturating_add)
    }

    /// Whether the output is a directory.
    pub(super) fn is_folder(&self) -> bool {
        matches!(self.target.place, Place::Folder(_))
    }

    /// Whether the output is written front to back, so that it cannot be read again.
    #[must_use]
    pub fn is_streamed(&self) -> bool {
        self.target.is_streamed()
    }

    /// What is called with the progress, instead of what the options name.
    #[must_use]
    pub fn progress(mut self, progress: OnProgress) -> Self {
        self.options.work.progress = Some(progress);
        self
    }

    /// Writes the output to the target in the options; in a dry run, nothing.
    pub fn run(self) -> Result<ConvertReport> {
        if self.options.dry_run {
            return Ok(self.report);
        }
        let (force, resume) = (self.options.force, self.options.resume);
        let leftover = match (resume, force) {
            (true, _) => Leftover::Resume,
            (_, true) => Leftover::Discard,
            _ => Leftover::Refuse,
        };
        if let Some(place) = elsewhere::destination(&self.target, &self.options)? {
            return self.run_into(&*place);
        }
        match self.target.place.clone() {
            Place::Stream => {
                let failed = |e| Error::io(e, "cannot write to standard output");
                let output = standard_output().map_err(failed)?;
                self.run_into(&Stream::new(output).named("standard output"))
            }
            Place::Special(path) => self.run_into(&Stream::to_special_file(&path)?),
            Place::File(path) => self.run_into(&LocalFile::new(&path, force)),
            Place::Folder(path) => {
                let made_by = self.options.verb();
                self.run_into(&LocalFolder::new(&path, leftover, force).made_by(made_by))
            }
        }
    }

    /// Writes the output to the destination that it was [planned for](Self::plan_for).
    pub fn run_into(mut self, destination: &dyn Destination) -> Result<ConvertReport> {
        if self.options.dry_run {
            return Ok(self.report);
        }
        let (work, total) = (&self.options.work, AtomicU64::new(self.data_bytes()));
        let report_progress = |done| {
            if let Some(progress) = &work.progress {
                progress(Progress { done, total: total.load(Ordering::Relaxed) });
            }
        };
        let (verified, seconds) = (OnceLock::new(), OnceLock::new());
        let check = |output: &Path| {
            seconds.get_or_init(|| self.start.elapsed().as_secs_f64());
            let report = verify_planned(output, &self.parts, &self.extra, &self.options)?;
            Ok(verified.get_or_init(|| report).ok)
        };
        let workers = self.parts.iter().map(|part| part.plan.memory.workers).min();
        let writing = Writing {
            parts: self.parts.iter().map(|part| (&part.model, &part.plan)).collect(),
            pool: work.pool(workers.unwrap_or(1), &report_progress),
            extra: &self.extra,
            total: &total,
            check: self.options.verify.then_some(&check),
        };
        let written = writing.write(destination)?;
        self.write_modelfile()?;
        self.report.overflowed = Some(written.overflowed);
        let files = self.parts.iter().flat_map(|part| &part.plan.files);
        self.report.count_own_work(files, &written.found);
        self.report.notes.extend(destination.notes());
        self.report_cost();
        self.report.verified = verified.into_inner();
        let elapsed = || self.start.elapsed().as_secs_f64();
        self.report.seconds = Some(seconds.into_inner().unwrap_or_else(elapsed));
        self.report.peak_memory = peak_memory();
        Ok(self.report)
    }
}

/// A model as the options want it, under other names or in fewer bits, if they do.
fn shaped(
    model: &Model,
    options: &ConvertOptions,
    target: &Target,
) -> Result<(Option<Translated>, Option<Quantized>)> {
    let translated = translate::translated(model, options, target)?;
    let quantized = quantized(model, options, target, translated.as_ref())?;
    let repacked = translated.iter().flat_map(|of| of.repacked.keys());
    let Some(chosen) = &quantized else { return Ok((translated, None)) };
    if repacked.into_iter().all(|name| !chosen.encodes(name)) {
        return Ok((translated, quantized));
    }
    // What is encoded is decoded before, and is not taken for what it could be repacked to.
    let options = options.clone().dtype(OutputType::Native);
    let translated = translate::translated(model, &options, target)?;
    let quantized = self::quantized(model, &options, target, translated.as_ref())?;
    Ok((translated, quantized))
}

/// What becomes of the weights, if they are to be quantized.
fn quantized(
    model: &Model,
    options: &ConvertOptions,
    target: &Target,
    translated: Option<&Translated>,
) -> Result<Option<Quantized>> {
    let Some(how) = &options.quantize else { return Ok(None) };
    refuse_problems(model, &options.select, false)?;
    let metadata = match translated {
        Some(translated) => translated.metadata.clone(),
        None => kept_metadata(model, target.writer, &[])?.entries,
    };
    let of = ToQuantize {
        model: translated.map_or(model, |translated| &translated.model),
        original: model,
        metadata: &metadata,
        repacked: translated.map(|translated| &translated.repacked),
    };
    let chosen = quantize::choose(quantize::found(how, options)?, &of, how, options);
    chosen.map(Some).map_err(|error| error.in_file(model.path()))
}

/// Adds what weights need beside them to a config that is made for them.
fn describe_made(files: &mut Vec<ExtraFile>, additions: &Additions) -> Result<()> {
    for file in files.iter_mut().filter(|file| file.name == Path::new(config::HUGGING_FACE)) {
        let Contents::Bytes(text) = &file.contents else { continue };
        let added: Vec<_> =
            additions.config_keys.iter().map(|(key, value)| (key.as_str(), value)).collect();
        let change = config::Change { removed: &[], dtype: None, added: &added };
        if let Some(changed) = config::change(text, &change)? {
            file.contents = Contents::Bytes(changed.text);
        }
    }
    if !files.is_empty() {
        let more = additions.files.iter().map(|(name, bytes)| ExtraFile {
            name: name.into(),
            contents: Contents::Bytes(bytes.clone()),
        });
        files.extend(more);
    }
    Ok(())
}

/// What becomes of a model, besides another format.
struct Shape<'a> {
    translated: Option<&'a Translated>,
    quantized: Option<&'a Quantized>,
    rearranged: Option<&'a Rearranged>,
}

/// A plan, and what it leaves out.
struct Planned {
    plan: Plan,
    /// Metadata keys that the format cannot hold.
    left_out: Vec<String>,
    /// Weights that cannot be read.
    skipped: Vec<Dropped>,
}

/// Plans what the options ask for.
fn planned(
    model: &Model,
    options: &ConvertOptions,
    target: &Target,
    streamed: bool,
    &Shape { translated, quantized, rearranged }: &Shape<'_>,
) -> Result<Planned> {
    let keeps = options.dtype == OutputType::Keep;
    check_options(options, target)?;
    let skipped = match options.skip_unreadable {
        true => unreadable(model, &options.select, keeps)?,
        false => {
            refuse_problems(model, &options.select, keeps)?;
            Vec::new()
        }
    };
    let select = without(&options.select, &skipped);
    let mut casts = translated.map_or(&options.casts, |translated| &translated.casts).clone();
    if let Some(quantized) = quantized {
        casts.splice(0..0, quantized.casts());
    }
    // Metadata of any type says what blocks there are, and is as it must be.
    let is_described =
        translated.is_some() || quantized.is_some() && target.writer.holds() == Holds::Values;
    let plan_options = PlanOptions {
        writer: target.writer,
        types: Types {
            of: options.dtype,
            only_decoded: options.only_decoded,
            casts: &casts,
            model: config::model_dtype(model.configs()).filter(|_| options.only_decoded),
        },
        is_described,
        encode: &|weight| quantized?.encoder(weight),
        encoding: options.quantize.as_ref().map_or_else(HowEncoded::default, |how| how.encoding()),
        keep: &|weight| translated.is_none() && quantized.is_some_and(|of| of.keeps(weight)),
        rank: &|weight| quantized.map_or(0, |of| of.rank(weight)),
        rearrange: &|weight| match rearranged {
            Some(rearranged) => rearranged.packed(weight),
            None => translated?.repacked.get(weight.name()).cloned(),
        },
        rename: &|name| options.renamed(name),
        select: &select,
        spread: match target.place {
            Place::Folder(_) => Spread::Shards(options.max_shard_size),
            _ => Spread::OneFile,
        },
        stem: target.stem(model),
        streamed,
        workers: options.work.workers(),
        max_memory: options
            .work
            .memory_for_tiles(&[model], elsewhere::held_bytes(target, options))?,
    };
    pipeline::check_cost(model, &plan_options)?;
    let jobs = pipeline::jobs(model, &plan_options).map_err(|found| refused(model, &found))?;
    if jobs.is_empty() {
        return Err(nothing_to_convert(model, skipped.len()));
    }
    let obsolete = obsolete_keys(&jobs);
    let mut metadata = match translated {
        Some(translated) => Kept { entries: translated.metadata.clone(), left_out: Vec::new() },
        None => kept_metadata(model, target.writer, &obsolete)?,
    };
    if let Some(quantized) = quantized {
        quantized.describe(&mut metadata.entries);
    }
    for (key, value) in &options.metadata {
        set_entry(&mut metadata.entries, key, value.clone());
    }
    let plan = pipeline::plan(jobs, metadata.entries, &plan_options);
    let plan = plan.map_err(|e| e.in_file(&options.target))?;
    // What is sent takes half as much again on its way.
    let sending = elsewhere::held_bytes(target, options) / 2 * 3;
    let taken = plan.memory.bytes.saturating_add(sending);
    options.work.grant_ahead(&[model], taken, plan.held()).map_err(|e| e.in_file(model.path()))?;
    Ok(Planned { plan, left_out: metadata.left_out, skipped })
}

fn check_options(options: &ConvertOptions, target: &Target) -> Result<()> {
    if options.dtype == OutputType::Keep && !options.casts.is_empty() {
        return Err(Error::usage("tensors that are kept as they are stored cannot be cast")
            .remedy(Remedy::KeepOrCast));
    }
    if !options.metadata.is_empty() && target.writer.holds() != Holds::Values {
        let format = target.writer.format();
        return Err(
            Error::usage(format!("{format} cannot hold typed metadata")).in_file(&options.target)
        );
    }
    Ok(())
}

/// Metadata keys that only describe how the weights were stored that are now decoded.
fn obsolete_keys(jobs: &[Job]) -> Vec<&'static str> {
    let decoded = jobs.iter().filter(|job| job.leaves_its_scheme());
    let mut names: Vec<&str> = decoded.map(|job| job.scheme().0).collect();
    names.sort_unstable();
    names.dedup();
    SCHEMES.traces(&names).flat_map(|traces| traces.metadata.iter().copied()).collect()
}

fn refused(model: &Model, obstacles: &[pipeline::Obstacle]) -> Error {
    let is_name = obstacles.iter().any(|obstacle| obstacle.is_name);
    let obstacles: Vec<_> = obstacles
        .iter()
        .map(|pipeline::Obstacle { name, variant, reason, .. }| refusals::Obstacle {
            weight: name,
            variant,
            part: None,
            reason: reason.clone(),
            is_ambiguous: false,
        })
        .collect();
    let nothing = || Error::unsupported("nothing can be written");
    let error = refusal(model, &obstacles).unwrap_or_else(nothing);
    if is_name { error.remedy(Remedy::Rename) } else { error }
}

/// The error if no weight is left to write.
fn nothing_to_convert(model: &Model, skipped: usize) -> Error {
    let error = match model.weights().len() {
        _ if skipped > 0 => Error::unsupported(format!(
            "there is nothing to convert: none of the {skipped} selected weights can be read"
        ))
        .remedy(Remedy::ListProblems),
        0 => Error::usage("there is nothing to convert: the model has no weights"),
        all => {
            Error::usage(format!("there is nothing to convert: none of {all} weights is selected"))
                .remedy(Remedy::ListNames)
        }
    };
    error.in_file(model.path())
}
