//! Decodes a quantized model and keeps its form: a directory stays a repository that loads, with
//! its configs, tokenizer, code and licence. A pipeline is decoded component by component.

use std::path::{Path, PathBuf};

use super::convert::{Conversion, Part};
use super::convert_options::ConvertOptions;
use super::convert_report::{ChangedKey, ConvertReport, DecodedAs, RewrittenFile};
use super::fates::Decoded;
use super::repository::{Repository, Rules, SideFiles};
use super::translate::Names;
use crate::config::{self, Change, Changed};
use crate::containers::writing::{Holds, writer};
use crate::dtype::DType;
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::pipeline::{Contents, ExtraFile, Job, OutputType, Place, Plan, Target, additions};
use crate::schemes::{self, Additions, SCHEMES, Traces};

/// Configs that may say how weights are quantized and which type they have: that of transformers
/// and diffusers, and Mistral's own.
const CONFIGS: [&str; 2] = [config::HUGGING_FACE, config::MISTRAL];

/// Decodes what is quantized, and leaves everything else as it is. A model that was opened as a
/// directory, or by the index of one, becomes a directory again: its other files are copied, and
/// its configs describe the new weights. A single file becomes a file, or a directory of weights
/// alone; a GGUF file becomes a repository, unless the options ask for its own format. A model that is not quantized is an error.
pub fn dequantize(model: &Model, options: &ConvertOptions) -> Result<ConvertReport> {
    Conversion::plan_dequantized(model, options)?.run()
}

/// Decodes the components of a pipeline that are quantized, each into its folder, and copies the
/// others with everything else. The models are those of
/// [`OpenOptions::open_pipeline`](crate::OpenOptions::open_pipeline).
pub fn dequantize_pipeline(models: &[Model], options: &ConvertOptions) -> Result<ConvertReport> {
    Conversion::plan_dequantized_pipeline(models, options)?.run()
}

impl Conversion {
    /// Plans what [`dequantize`] does.
    pub fn plan_dequantized(model: &Model, options: &ConvertOptions) -> Result<Self> {
        Self::dequantized(model, options, |target| {
            target.check(model, options.force)?;
            Ok(target.is_in_turn())
        })
    }

    /// Plans what [`dequantize_pipeline`] does.
    pub fn plan_dequantized_pipeline(models: &[Model], options: &ConvertOptions) -> Result<Self> {
        let root = pipeline_of(models)?;
        Self::dequantized_pipeline(models, options, |target| {
            target.refuse_inside(&root)?;
            models.iter().try_for_each(|model| target.check(model, options.force))?;
            Ok(target.is_in_turn())
        })
    }

    pub(super) fn dequantized(
        model: &Model,
        options: &ConvertOptions,
        check: impl FnOnce(&Target) -> Result<bool>,
    ) -> Result<Self> {
        options.refuse_layout()?;
        let mut options = options.clone().dequantizing();
        if becomes_repository(model, &options)? {
            options.names = Names::Hf;
            options.same_format = false;
        }
        let mut conversion = Self::planned(&[(model, String::new())], &options, check)?;
        if !is_quantized(model) {
            return Err(not_quantized(model.path()));
        }
        conversion.refuse_kept(&options)?;
        conversion.say_types(&options);
        // What a translated model has beside its weights is made, not copied.
        if options.names == Names::Hf {
            return Ok(conversion);
        }
        if let Some(repository) = Repository::of(model).filter(|_| conversion.is_folder()) {
            conversion.take_side_files(&repository, &[model], &options)?;
        }
        Ok(conversion)
    }

    pub(super) fn dequantized_pipeline(
        models: &[Model],
        options: &ConvertOptions,
        check: impl FnOnce(&Target) -> Result<bool>,
    ) -> Result<Self> {
        options.refuse_layout()?;
        let root = pipeline_of(models)?;
        let options = options.clone().dequantizing();
        let quantized: Vec<_> = models
            .iter()
            .filter(|model| is_quantized(model) || !model.findings().is_empty())
            .map(|model| Ok((model, component_of(model, &root)?)))
            .collect::<Result<_>>()?;
        if quantized.is_empty() {
            return Err(not_quantized(&root));
        }
        let mut conversion = Self::planned(&quantized, &options, check)?;
        if !conversion.is_folder() {
            return Err(Error::usage("a pipeline is a directory, and cannot become one file")
                .in_file(options.target())
                .remedy(Remedy::AnotherTarget));
        }
        conversion.refuse_kept(&options)?;
        conversion.say_types(&options);
        let repository = Repository::at(&root, &models[0]);
        let all: Vec<&Model> = models.iter().collect();
        conversion.take_side_files(&repository, &all, &options)?;
        Ok(conversion)
    }

    /// An error if tensors are to be kept as they are stored.
    fn refuse_kept(&self, options: &ConvertOptions) -> Result<()> {
        match options.dtype == OutputType::Keep {
            true => Err(Error::usage("nothing is decoded if tensors are kept as they are stored")),
            false => Ok(()),
        }
    }

    /// Reports the types of decoded weights, and why they have them.
    fn say_types(&mut self, options: &ConvertOptions) {
        let of = |part: &Part| decoded_as(part, options);
        self.report.decoded_as = self.parts.iter().filter_map(of).collect();
    }

    /// The files that a repository has beside its weights, with its configs brought up to date.
    pub(super) fn take_side_files(
        &mut self,
        repository: &Repository,
        models: &[&Model],
        options: &ConvertOptions,
    ) -> Result<()> {
        let output = options.target().canonicalize().ok();
        let reach = repository.reach(models, options.follow_links);
        let traces: Vec<Vec<Traces>> = self.parts.iter().map(traces).collect();
        let decoded: Vec<Decoded> = self
            .parts
            .iter()
            .zip(&traces)
            .map(|(part, traces)| {
                let sidecars = traces.iter().flat_map(|traces| traces.files).copied().collect();
                Decoded::new(repository.path(), &part.folder, &part.model, sidecars)
            })
            .collect();
        let configs: Vec<PathBuf> = self.parts.iter().flat_map(configs_of).collect();
        let output = output.as_deref();
        let rules = Rules { output, reach: &reach, configs: &configs, decoded: &decoded };
        let mut files = repository.side_files(&rules)?;
        for (part, traces) in self.parts.iter().zip(&traces) {
            self.report.rewritten.extend(rewrite(part, traces, repository, &mut files)?);
        }
        let is_new = |file: &&ExtraFile| matches!(file.contents, Contents::Of(..));
        let name = |file: &ExtraFile| file.name.to_string_lossy().into_owned();
        self.report.copied = files.copied.iter().filter(is_new).map(name).collect();
        self.report.notes.extend(weights_note(&files.weights));
        (self.extra, self.report.left_behind) = (files.copied, files.left_behind);
        Ok(())
    }
}

/// The folder of the pipeline whose components these models are.
fn pipeline_of(models: &[Model]) -> Result<PathBuf> {
    let folder = models.first().and_then(Model::pipeline);
    let folder = folder.filter(|of| models.iter().all(|model| model.pipeline() == Some(*of)));
    let none = || Error::usage("these models are not the components of one pipeline");
    folder.map(Path::to_owned).ok_or_else(none)
}

/// The folder of a component inside its pipeline.
fn component_of(model: &Model, root: &Path) -> Result<String> {
    let inside = model.path().strip_prefix(root).ok().and_then(Path::to_str);
    let is_folder = !inside.is_none_or(str::is_empty) && Repository::of(model).is_some();
    inside.filter(|_| is_folder).map(str::to_owned).ok_or_else(|| {
        Error::usage("is one of several models in a component of a pipeline").in_file(model.path())
    })
}

/// Whether a model is one file with everything in it that a repository has, and a directory is
/// asked for: nothing says that it should keep its format.
fn becomes_repository(model: &Model, options: &ConvertOptions) -> Result<bool> {
    if options.names == Names::Keep {
        return Ok(false);
    }
    let target = Target::of(&options.target, options.to.as_deref(), None)?;
    let is_whole = writer(model.format()).is_some_and(|own| own.holds() == Holds::Values);
    let is_folder = matches!(target.place, Place::Folder(_));
    Ok(is_whole && is_folder && target.writer.holds() == Holds::Texts)
}

/// Whether there is something to decode, or a config that says so.
pub(super) fn is_quantized(model: &Model) -> bool {
    model.stale_method().is_some() || model.weights().any(|weight| !weight.is_plain())
}

fn not_quantized(path: &Path) -> Error {
    Error::usage("is not quantized, so there is nothing to dequantize")
        .in_file(path)
        .remedy(Remedy::ConvertOrCopy)
}

/// The files that may describe a part's weights, by their names in the repository.
fn configs_of(part: &Part) -> impl Iterator<Item = PathBuf> {
    CONFIGS.iter().map(|name| Path::new(&part.folder).join(name))
}

/// A note on files that hold weights and are only copied.
fn weights_note(names: &[String]) -> Option<String> {
    const MOST: usize = 4;
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let listed = names.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    (!names.is_empty())
        .then(|| format!("not decoded, but copied with whatever weights they hold: {listed}{more}"))
}

/// What mentions the schemes that are decoded, or that of the configs.
fn traces(part: &Part) -> Vec<Traces> {
    let decoded = part.plan.jobs().filter(|job| job.leaves_its_scheme());
    let mut names: Vec<&str> = decoded.map(|job| job.scheme().0).collect();
    let method = part.model.stale_method().map(str::to_owned).or_else(|| part.model.method());
    names.extend(method.iter().flat_map(|method| SCHEMES.of_method(method)));
    names.sort_unstable();
    names.dedup();
    std::iter::once(schemes::SHARED).chain(SCHEMES.traces(&names)).collect()
}

/// The type of most decoded weights, as configs name it.
fn decoded_type(plan: &Plan) -> Option<&'static str> {
    let mut counts = [(DType::F32, "float32"), (DType::BF16, "bfloat16"), (DType::F16, "float16")]
        .map(|(dtype, name)| (0u64, dtype, name));
    for job in plan.jobs().filter(|job| job.leaves_its_scheme()) {
        let count = counts.iter_mut().find(|(_, counted, _)| job.dtype() == Some(*counted));
        if let Some((count, ..)) = count {
            *count = count.saturating_add(job.elements());
        }
    }
    let most = counts.iter().filter(|(count, ..)| *count > 0).max_by_key(|(count, ..)| *count);
    most.map(|(_, _, name)| *name)
}

/// The types of a part's decoded weights, and why; `None` if none is decoded.
fn decoded_as(part: &Part, options: &ConvertOptions) -> Option<DecodedAs> {
    let jobs = || part.plan.jobs().filter(|job| job.leaves_its_scheme());
    let listed = |types: &mut dyn Iterator<Item = DType>| {
        let mut names: Vec<&str> = types.map(DType::name).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    };
    let types = listed(&mut jobs().filter_map(Job::dtype));
    let natives = listed(&mut jobs().filter_map(|job| job.weight().ok()?.native()));
    let named = config::named_dtype(part.model.configs());
    let instead = match natives == types || natives.is_empty() {
        true => String::new(),
        false => format!("; the native type is {natives}"),
    };
    let reason = match (options.dtype, named) {
        (OutputType::Auto, Some((file, DType::BF16 | DType::F16))) => {
            format!("as {file} says{instead}")
        }
        (OutputType::Auto | OutputType::Native, _) => match instead.is_empty() {
            true => "the native type".to_owned(),
            false => format!("for want of a native type with 16 bits{instead}"),
        },
        _ => format!("as asked for{instead}"),
    };
    let component = (!part.folder.is_empty()).then(|| part.folder.clone());
    (!types.is_empty()).then_some(DecodedAs { component, dtype: types, reason })
}

/// Brings the configs of a part up to date, and adds what its encoders need.
fn rewrite(
    part: &Part,
    traces: &[Traces],
    repository: &Repository,
    files: &mut SideFiles,
) -> Result<Vec<RewrittenFile>> {
    let mut additions = additions(part.plan.jobs());
    additions.push(part.additions.clone());
    let mut rewritten = Vec::new();
    for name in configs_of(part) {
        let Some(file) = files.copied.iter_mut().find(|file| file.name == name) else { continue };
        let text = repository.read(&name)?;
        let failed = |e: Error| e.in_file(&repository.path().join(&name));
        if let Some(changed) = changed(&text, traces, &additions, &part.plan).map_err(failed)? {
            let name = name.to_string_lossy().into_owned();
            rewritten.push(described(name, &changed));
            file.contents = Contents::Bytes(changed.text);
        }
    }
    for (name, bytes) in additions.iter().flat_map(|additions| &additions.files) {
        let name = Path::new(&part.folder).join(name);
        files.copied.retain(|file| file.name != name);
        files.copied.push(ExtraFile { name, contents: Contents::Bytes(bytes.clone()) });
    }
    Ok(rewritten)
}

fn changed(
    text: &[u8],
    traces: &[Traces],
    additions: &[Additions],
    plan: &Plan,
) -> Result<Option<Changed>> {
    let removed: Vec<&str> = traces.iter().flat_map(|traces| traces.config_keys).copied().collect();
    let added: Vec<_> = additions.iter().flat_map(|additions| &additions.config_keys).collect();
    let added: Vec<_> = added.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let change = Change { removed: &removed, dtype: decoded_type(plan), added: &added };
    config::change(text, &change)
}

fn described(name: String, changed: &Changed) -> RewrittenFile {
    let keys = changed.changed.iter().map(|new| ChangedKey {
        key: new.key.clone(),
        from: new.from.clone(),
        to: new.to.clone(),
    });
    RewrittenFile { name, removed: changed.removed.clone(), changed: keys.collect() }
}
