//! Conversion as a chain: a model is translated, every weight is assigned what is written of it, that
//! is planned, and the plan is run.
//!
//! Every verb that writes enters through [`Conversion::begin`]; each step is computed once.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use super::OnProgress;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::output::{Destination, Leftover, LocalFile, LocalFolder, Stream, WriteOrder};
use crate::pipeline::{ExtraFile, Job, Place, Plan, Target};
use crate::schemes::Additions;
use crate::sys::standard_output;

mod assign;
mod beside;
mod chain;
mod decide;
mod elsewhere;
mod expansion;
mod file_actions;
mod inputs;
mod mmproj;
mod modelfile;
mod move_codes;
mod names;
mod options;
mod plan;
mod plan_report;
mod quantize;
mod quantize_options;
mod reach;
mod repacked;
mod report;
mod repository;
mod run;
mod side_files;
mod split;
mod translate;
mod values;
mod verify;

pub use crate::config::ChangedKey;
pub use crate::pipeline::Tied;
pub use mmproj::Mmproj;
pub use move_codes::layouts;
pub use names::Names;
pub use options::{ConvertOptions, Rename};
pub use plan_report::{PlanReport, PlannedTensor};
pub use quantize::{CostReport, QuantizeReport, QuantizedWeight, TypeReport, quantizers};
pub use quantize_options::QuantizeOptions;
pub use report::{
    ConversionReport, ConvertReport, DecodedAs, LeftBehind, RewrittenFile, WrittenFile,
};
pub use translate::NextLayers;
pub use verify::{
    Mismatch, VerifyReport, WrongFile, verify, verify_dequantized, verify_pipeline,
    verify_quantized, was_dequantized,
};

pub(in crate::ops) use translate::{described, file as sibling_file};

use repository::Repository;
use values::{Values, Verb};

/// Converts a model to another format or type.
///
/// Returns an error before it writes any output if a weight cannot be converted.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// let options = ops::ConvertOptions::new("model.safetensors").dtype(ops::OutputType::Bf16);
/// let report = ops::convert(&Model::open("model.gguf")?, &options)?;
/// println!("{} bytes written", report.write_bytes);
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub fn convert(model: &Model, options: &ConvertOptions) -> Result<ConvertReport> {
    Conversion::plan(model, options)?.run()
}

/// Converts a model into a writer, such as a `Vec<u8>`.
///
/// The target in the options is ignored. [`ConvertOptions::to`] selects a format other than the
/// default.
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
    streamed(model, Verb::Convert, options, out)
}

/// Decodes quantized weights and leaves all others unchanged.
///
/// - A model opened as a directory, or by its index, becomes a directory. Its other files are copied,
///   and its configs are updated to describe the new weights.
/// - A single file becomes a file, or a directory with only the weights.
/// - A GGUF file becomes a repository, unless the options ask for GGUF.
///
/// Returns an error if the model is not quantized.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// let model = Model::open("Qwen3-8B-GPTQ/")?;
/// ops::dequantize(&model, &ops::ConvertOptions::new("Qwen3-8B"))?;
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub fn dequantize(model: &Model, options: &ConvertOptions) -> Result<ConvertReport> {
    Conversion::plan_dequantized(model, options)?.run()
}

/// Decodes the quantized components of a pipeline, each into its directory, and copies all other files.
///
/// [`OpenOptions::open_pipeline`](crate::OpenOptions::open_pipeline) returns the models to pass.
pub fn dequantize_pipeline(models: &[Model], options: &ConvertOptions) -> Result<ConvertReport> {
    Conversion::plan_dequantized_pipeline(models, options)?.run()
}

/// Quantizes a model and measures the error.
///
/// Returns an error before it writes any output if a weight cannot be quantized.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// let options = ops::ConvertOptions::new("Qwen3-8B-Q8_0.gguf");
/// ops::quantize(&Model::open("Qwen3-8B/")?, &options, &ops::QuantizeOptions::new("Q8_0"))?;
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub fn quantize(
    model: &Model,
    options: &ConvertOptions,
    how: &QuantizeOptions,
) -> Result<ConvertReport> {
    Conversion::plan_quantized(model, options, how)?.run()
}

/// Quantizes a model into a writer. The target in the options is ignored.
pub fn quantize_to(
    model: &Model,
    options: &ConvertOptions,
    how: &QuantizeOptions,
    out: impl Write + Send,
) -> Result<ConvertReport> {
    streamed(model, Verb::Quantize(how), options, out)
}

fn streamed(
    model: &Model,
    verb: Verb<'_>,
    options: &ConvertOptions,
    out: impl Write + Send,
) -> Result<ConvertReport> {
    let options = ConvertOptions { target: "-".into(), ..options.clone() };
    let stream = Stream::new(out);
    Conversion::begin(Models::One(model), verb, &options, Output::Into(&stream))?.run_into(&stream)
}

/// A planned conversion. Check its [report](Self::report), then [run](Self::run) it.
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
    options: ConvertOptions,
    values: Values,
    target: Target,
    /// What becomes of each model; several are the components of a pipeline.
    parts: Vec<Part>,
    /// Files that go into a directory beside the weights.
    extra: Vec<ExtraFile>,
    report: ConvertReport,
    start: Instant,
}

/// A model, and what becomes of it.
struct Part {
    model: Model,
    plan: Plan,
    /// The folder of the output that its files go into; empty for the output itself.
    folder: String,
    /// What a repository needs beside its weights, besides what their encoders say.
    additions: Additions,
    /// Whether what lies beside its weights is made, not copied.
    is_translated: bool,
    /// Whether it is the projector beside the model of the first part.
    is_projector: bool,
}

/// What is converted.
#[derive(Clone, Copy)]
enum Models<'a> {
    One(&'a Model),
    /// The components of a pipeline.
    Pipeline(&'a [Model]),
}

/// Where the output goes.
#[derive(Clone, Copy)]
enum Output<'a> {
    /// To the target, which is checked.
    Target,
    /// Somewhere else, in this order.
    Into(&'a dyn Destination),
    /// Nowhere: it is there already, and has the format of this model if it is one.
    Made(Option<&'a Model>),
}

/// What every step of the chain looks at.
struct Task<'a> {
    options: &'a ConvertOptions,
    values: &'a Values,
    names: Names,
    target: Target,
    /// Whether the output is written front to back.
    streamed: bool,
    /// Whether an output that its programs cannot load is refused.
    loads: bool,
}

impl Conversion {
    /// Plans a conversion to the target in the options. If it is impossible, the error says why and
    /// names every weight that cannot be written.
    pub fn plan(model: &Model, options: &ConvertOptions) -> Result<Self> {
        Self::begin(Models::One(model), Verb::Convert, options, Output::Target)
    }

    /// Plans a conversion to another destination. The target in the options only decides whether it
    /// is one file or a directory, and the format.
    pub fn plan_for(
        model: &Model,
        options: &ConvertOptions,
        destination: &dyn Destination,
    ) -> Result<Self> {
        Self::begin(Models::One(model), Verb::Convert, options, Output::Into(destination))
    }

    /// Plans what [`dequantize`] does.
    pub fn plan_dequantized(model: &Model, options: &ConvertOptions) -> Result<Self> {
        Self::begin(Models::One(model), Verb::Dequantize, options, Output::Target)
    }

    /// Plans what [`dequantize_pipeline`] does.
    pub fn plan_dequantized_pipeline(models: &[Model], options: &ConvertOptions) -> Result<Self> {
        Self::begin(Models::Pipeline(models), Verb::Dequantize, options, Output::Target)
    }

    /// Plans what [`quantize`] does.
    pub fn plan_quantized(
        model: &Model,
        options: &ConvertOptions,
        how: &QuantizeOptions,
    ) -> Result<Self> {
        Self::begin(Models::One(model), Verb::Quantize(how), options, Output::Target)
    }

    /// Plans any conversion: every one begins here.
    fn begin(
        models: Models<'_>,
        verb: Verb<'_>,
        options: &ConvertOptions,
        output: Output<'_>,
    ) -> Result<Self> {
        let start = Instant::now();
        let target = match output {
            Output::Made(Some(made)) => verify::target_of(made, options)?,
            _ => Target::of(&options.target, options.to.as_deref())?,
        };
        let values = decide::decide(verb, options, &target, models.first()?)?;
        let sources = models.sources()?;
        let (target, names) = models.settle(&values, options, target)?;
        let target_of = |model: &Model| {
            if values.is_dequantized() && names != Names::Hf {
                target.or_in(model.format())
            } else {
                target.clone()
            }
        };
        let streamed = models.check(&target_of(sources[0].0), options, output)?;
        if matches!(output, Output::Target) {
            inputs::refuse_replacing(&target, options, &values)?;
        }
        let (mut parts, mut extra) = (Vec::new(), Vec::new());
        let mut report = ConvertReport::default();
        for (model, folder) in &sources {
            let target = target_of(model);
            let loads = !options.lossy_config && !matches!(output, Output::Made(_));
            let task = Task { options, values: &values, names, target, streamed, loads };
            parts.push(chain::part(model, folder, &task, (&mut extra, &mut report))?);
            if options.mmproj == Mmproj::Beside && matches!(models, Models::One(_)) {
                let beside = (&mut extra, &mut report);
                parts.push(beside::part(model, &task.target, &task, beside)?);
            }
        }
        report.made = extra.iter().map(|file| file.name.to_string_lossy().into_owned()).collect();
        let (options, target) = (options.clone(), target_of(sources[0].0));
        let mut conversion = Self { options, values, target, parts, extra, report, start };
        if matches!(output, Output::Target) {
            split::check(&conversion, sources[0].0)?;
        }
        modelfile::plan(&mut conversion)?;
        conversion.report_cost();
        side_files::add(&mut conversion, models, names)?;
        Ok(conversion)
    }

    /// Says what quantizing costs, as far as that is known, and what decoding does.
    fn report_cost(&mut self) {
        let mut jobs = self.parts.iter().flat_map(|part| part.plan.jobs());
        match &self.values {
            Values::Quantize { how, .. } => {
                let jobs: Vec<&Job> = jobs.collect();
                self.report.quantized = Some(quantize::report(&how.name, &jobs));
            }
            // Whoever dequantizes knows it.
            Values::Types { only_decoded: false, .. } => self.report.note_decoded(&mut jobs),
            _ => {}
        }
    }

    /// What it will do: the files and their sizes, how weights are converted, what is left out.
    #[must_use]
    pub fn report(&self) -> &ConvertReport {
        &self.report
    }

    /// The weights that will be written, each by its name in the output and the names of the stored
    /// tensors that it is made of. Rules for the output are matched against the former.
    #[must_use]
    pub fn output_names(&self) -> Vec<(String, Vec<String>)> {
        let jobs = self.parts.iter().flat_map(|part| part.plan.jobs());
        let mut names: Vec<_> =
            jobs.map(|job| (self.options.renamed(job.source_name()), job.stored_names())).collect();
        // A stream has one job for each tensor of a weight.
        names.dedup();
        names
    }

    /// Bytes of data: the total that progress counts to.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.plan.data_bytes()).fold(0, u64::saturating_add)
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
            Place::Special(path) => {
                let stream = self.options.work.waiting(|| Stream::to_special_file(&path))?;
                self.run_into(&stream)
            }
            Place::File(path) if split::are_several(&self) => {
                self.run_into(&LocalFolder::of_parts(&path, leftover, force))
            }
            Place::File(path) => self.run_into(&LocalFile::new(&path, force)),
            Place::Folder(path) => {
                let made_by = self.values.made_by();
                self.run_into(&LocalFolder::new(&path, leftover, force).made_by(made_by))
            }
        }
    }

    /// Writes the output to the destination that it was [planned for](Self::plan_for).
    pub fn run_into(self, destination: &dyn Destination) -> Result<ConvertReport> {
        if self.options.dry_run { Ok(self.report) } else { run::run(self, destination) }
    }
}

impl<'a> Models<'a> {
    /// All of them.
    fn all(self) -> &'a [Model] {
        match self {
            Self::One(model) => std::slice::from_ref(model),
            Self::Pipeline(models) => models,
        }
    }

    fn first(self) -> Result<&'a Model> {
        self.all().first().ok_or_else(no_pipeline)
    }

    /// The folder of the pipeline whose components they are.
    fn root(self) -> Result<&'a Path> {
        let folder = self.first()?.pipeline();
        let folder = folder.filter(|of| self.all().iter().all(|one| one.pipeline() == Some(*of)));
        folder.ok_or_else(no_pipeline)
    }

    /// What is converted, each with its folder in the output: of a pipeline, what is quantized.
    fn sources(self) -> Result<Vec<(&'a Model, String)>> {
        let Self::Pipeline(models) = self else { return Ok(vec![(self.first()?, String::new())]) };
        let root = self.root()?;
        let sources: Vec<_> = models
            .iter()
            .filter(|model| values::is_quantized(model) || !model.findings().is_empty())
            .map(|model| Ok((model, component_of(model, root)?)))
            .collect::<Result<_>>()?;
        if sources.is_empty() { Err(side_files::not_quantized(root)) } else { Ok(sources) }
    }

    /// The format of the output, and what becomes of the names, where the values decide.
    fn settle(
        self,
        values: &Values,
        options: &ConvertOptions,
        target: Target,
    ) -> Result<(Target, Names)> {
        let names = options.names;
        match (values, self) {
            (Values::Quantize { quantizer, .. }, _) => {
                Ok((quantize::held(*quantizer, &target, options)?, names))
            }
            (Values::Layout { .. }, _) => {
                move_codes::refuse_format(&target, options)?;
                Ok((target, Names::Keep))
            }
            (Values::Types { only_decoded: true, .. }, Self::One(model))
                if translate::becomes_repository(model, names, &target) =>
            {
                Ok((target, Names::Hf))
            }
            _ => Ok((target, names)),
        }
    }

    /// An error if the output must not be written there; otherwise whether it is written front to
    /// back.
    fn check(self, target: &Target, options: &ConvertOptions, output: Output<'_>) -> Result<bool> {
        if let Output::Into(destination) = output {
            return Ok(destination.order() == WriteOrder::FrontToBack);
        }
        if matches!(output, Output::Target) {
            if matches!(self, Self::Pipeline(_)) {
                target.refuse_inside(self.root()?)?;
            }
            self.all().iter().try_for_each(|model| target.check(model, options.force))?;
        }
        Ok(target.is_in_turn())
    }
}

fn no_pipeline() -> Error {
    Error::usage("these models are not the components of one pipeline")
}

/// The folder of a component inside its pipeline.
fn component_of(model: &Model, root: &Path) -> Result<String> {
    let inside = model.path().strip_prefix(root).ok().and_then(Path::to_str);
    let is_folder = !inside.is_none_or(str::is_empty) && Repository::of(model).is_some();
    inside.filter(|_| is_folder).map(str::to_owned).ok_or_else(|| {
        Error::usage("is one of several models in one pipeline component").in_file(model.path())
    })
}
