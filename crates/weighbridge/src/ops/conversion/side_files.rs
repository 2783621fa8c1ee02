//! What lies beside the weights of a repository: its files are copied, and its configs describe the
//! new weights.

use std::path::{Path, PathBuf};

use super::file_actions::Decoded;
use super::report::{DecodedAs, RewrittenFile};
use super::repository::{Repository, Rules, SideFiles};
use super::values::{Values, is_quantized};
use super::{Conversion, Models, Names, Part, move_codes};
use crate::config::{self, Change, Changed};
use crate::dtype::DType;
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::pipeline::{Contents, ExtraFile, Job, OutputType, Plan, additions};
use crate::schemes::{self, Additions, SCHEMES, Traces};

/// Configs that may say how weights are quantized and which type they have: that of transformers
/// and diffusers, and Mistral's own.
const CONFIGS: [&str; 2] = [config::HUGGING_FACE, config::MISTRAL];

/// Adds the files of a repository to what becomes of it: where only weights are asked for, none.
pub(super) fn add(conversion: &mut Conversion, models: Models<'_>, names: Names) -> Result<()> {
    let is_folder = conversion.target.is_folder();
    let own = |model: &Model| Repository::of(model).filter(|_| is_folder);
    let repository = match (&conversion.values, models) {
        (Values::Layout { .. }, Models::One(model)) => {
            let what = "in a directory, and a directory as the output";
            Some(own(model).ok_or_else(|| move_codes::no_config(what, model))?)
        }
        (Values::Quantize { .. }, Models::One(model)) => {
            own(model).filter(|_| !conversion.parts.iter().any(|part| part.is_translated))
        }
        (Values::Types { only_decoded: true, dtype, .. }, _) => {
            let of = |part: &Part| decoded_as(part, *dtype);
            conversion.report.decoded_as = conversion.parts.iter().filter_map(of).collect();
            dequantized(models, names, conversion)?
        }
        _ => None,
    };
    let Some(repository) = repository else { return Ok(()) };
    take(conversion, &repository, models)?;
    let is_config = |file: &RewrittenFile| file.name == config::HUGGING_FACE;
    match (&conversion.values, models) {
        (Values::Layout { .. }, Models::One(model))
            if !conversion.report.rewritten.iter().any(is_config) =>
        {
            Err(move_codes::no_config("in the directory of the weights", model))
        }
        _ => Ok(()),
    }
}

/// The repository that is dequantized; none for a single file, and for one that is made anew.
fn dequantized(
    models: Models<'_>,
    names: Names,
    conversion: &Conversion,
) -> Result<Option<Repository>> {
    let is_folder = conversion.target.is_folder();
    match models {
        Models::One(model) if !is_quantized(model) => Err(not_quantized(model.path())),
        // What a translated model has beside its weights is made, not copied.
        Models::One(model) => Ok(Repository::of(model).filter(|_| is_folder && names != Names::Hf)),
        Models::Pipeline(_) if !is_folder => {
            Err(Error::usage("a pipeline cannot be written to a single file")
                .in_file(conversion.options.target())
                .remedy(Remedy::AnotherTarget))
        }
        Models::Pipeline(_) => Ok(Some(Repository::at(models.root()?, models.first()?))),
    }
}

/// Takes the files that a repository has beside its weights, with its configs brought up to date.
fn take(conversion: &mut Conversion, repository: &Repository, models: Models<'_>) -> Result<()> {
    let Conversion { options, parts, report, .. } = conversion;
    let output = options.target().canonicalize().ok();
    let reach = repository.reach(models.all(), options.follow_links);
    let traces: Vec<Vec<Traces>> = parts.iter().map(traces).collect();
    let decoded = parts.iter().zip(&traces).map(|(part, traces)| {
        let sidecars = traces.iter().flat_map(|traces| traces.files).copied().collect();
        Decoded::new(repository.path(), part, sidecars)
    });
    let decoded: Vec<Decoded> = decoded.collect();
    let configs: Vec<PathBuf> = parts.iter().flat_map(configs_of).collect();
    let output = output.as_deref();
    let rules = Rules { output, reach: &reach, configs: &configs, decoded: &decoded };
    let mut files = repository.side_files(&rules)?;
    for (part, traces) in parts.iter().zip(&traces) {
        report.rewritten.extend(rewrite(part, traces, repository, &mut files)?);
    }
    let is_new = |file: &&ExtraFile| matches!(file.contents, Contents::Of(..));
    let name = |file: &ExtraFile| file.name.to_string_lossy().into_owned();
    report.copied = files.copied.iter().filter(is_new).map(name).collect();
    report.notes.extend(weights_note(&files.weights));
    (conversion.extra, report.left_behind) = (files.copied, files.left_behind);
    Ok(())
}

pub(super) fn not_quantized(path: &Path) -> Error {
    Error::usage("is not quantized; there is nothing to dequantize")
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
    (!names.is_empty()).then(|| format!("weight files copied without decoding: {listed}{more}"))
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
fn decoded_as(part: &Part, asked: OutputType) -> Option<DecodedAs> {
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
    let instead = if natives == types || natives.is_empty() {
        String::new()
    } else {
        format!("; the native type is {natives}")
    };
    let reason = match (asked, named) {
        (OutputType::Auto, Some((file, DType::BF16 | DType::F16))) => {
            format!("from {file}{instead}")
        }
        (OutputType::Auto | OutputType::Native, _) if instead.is_empty() => {
            "the native type".to_owned()
        }
        (OutputType::Auto | OutputType::Native, _) => format!("no 16-bit native type{instead}"),
        _ => format!("requested{instead}"),
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
            let Changed { text, removed, changed } = changed;
            let name = name.to_string_lossy().into_owned();
            rewritten.push(RewrittenFile { name, removed, changed });
            file.contents = Contents::Bytes(text);
        }
    }
    for (name, bytes) in additions.iter().flat_map(|additions| &additions.files) {
        let name = Path::new(&part.folder).join(name);
        files.copied.retain(|file| file.name != name);
        files.copied.push(ExtraFile::made(name, bytes.clone()));
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
