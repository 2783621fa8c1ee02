//! A quantized model as plain numbers, in the form it came in: a directory stays a repository that
//! loads, with its configs, tokenizer, code and licence.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::convert::Conversion;
use super::convert_options::ConvertOptions;
use super::convert_report::ConvertReport;
use crate::containers;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::pipeline::{Action, Contents, ExtraFile, Plan};
use crate::schemes::{self, Additions, Traces};

/// Configs that may say how weights are quantized and in which type they are: that of
/// transformers and diffusers, and Mistral's own.
const CONFIGS: [&str; 2] = ["config.json", "params.json"];

/// Endings of weights in formats that other frameworks read.
const OTHER_WEIGHTS: [&str; 3] = [".h5", ".msgpack", ".onnx"];

/// How deep a repository's folders are followed.
const MOST_DEPTH: usize = 8;

/// Decodes what is quantized, and leaves everything else as it is. A model that was opened as a
/// directory, or by the index of one, becomes one: its other files are copied, and its configs
/// say what it is now. A single file becomes a file, or a directory of weights alone.
pub fn dequantize(model: &Model, options: &ConvertOptions) -> Result<ConvertReport> {
    Conversion::plan_dequantized(model, options)?.run()
}

impl Conversion {
    /// Plans what [`dequantize`] does.
    pub fn plan_dequantized(model: &Model, options: &ConvertOptions) -> Result<Self> {
        let mut conversion = Self::plan(model, &options.clone().dequantizing())?;
        let Some(folder) = repository(model).filter(|_| conversion.is_folder()) else {
            return Ok(conversion);
        };
        let output = options.target().canonicalize().ok();
        conversion.extra = extra_files(&folder, output.as_deref(), &conversion.plan)?;
        Ok(conversion)
    }
}

/// The files of a repository that go along with the weights of a plan, and what they say then.
fn extra_files(folder: &Path, output: Option<&Path>, plan: &Plan) -> Result<Vec<ExtraFile>> {
    let (traces, additions) = (traces(plan), additions(plan));
    let mut extra = Vec::new();
    collect(folder, Path::new(""), output, 0, &mut extra)?;
    extra.retain(|extra| !is_sidecar(&extra.name, &traces));
    let change = Change { traces: &traces, additions: &additions, dtype: decoded_type(plan) };
    for extra in &mut extra {
        if let Some(text) = change.rewritten(folder, &extra.name)? {
            extra.contents = Contents::Bytes(text.into_bytes());
        }
    }
    for (name, bytes) in additions.iter().flat_map(|additions| &additions.files) {
        extra.retain(|extra| extra.name != Path::new(name));
        let contents = Contents::Bytes(bytes.clone());
        extra.push(ExtraFile { name: name.into(), contents });
    }
    Ok(extra)
}

/// What the encoders of a plan want to be said beside the weights; each of them once.
fn additions(plan: &Plan) -> Vec<Additions> {
    let mut all: Vec<Additions> = Vec::new();
    for job in plan.jobs() {
        if let Action::Encode(encoding) = &job.action {
            let additions = encoding.encoder.additions();
            if !all.contains(&additions) {
                all.push(additions);
            }
        }
    }
    all
}

/// The directory that a model is, whether it was named or its index was.
fn repository(model: &Model) -> Option<PathBuf> {
    let path = model.path();
    let is_index = path.to_string_lossy().ends_with(".index.json");
    match path.is_dir() {
        true => Some(path.to_owned()),
        false if is_index => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            Some(folder.unwrap_or(Path::new(".")).to_owned())
        }
        false => None,
    }
}

/// Where the schemes that are decoded are spoken of.
fn traces(plan: &Plan) -> Vec<Traces> {
    let decoded = plan.jobs().filter(|job| job.leaves_its_scheme());
    let mut names: Vec<&str> = decoded.map(|job| job.scheme().0).collect();
    names.sort_unstable();
    names.dedup();
    schemes::traces(&names).collect()
}

fn is_sidecar(name: &Path, traces: &[Traces]) -> bool {
    traces.iter().any(|traces| traces.files.iter().any(|file| name == Path::new(file)))
}

/// What configs call the type that most of what is decoded is written in.
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

/// The files of a repository that go along, by name.
fn collect(
    folder: &Path,
    under: &Path,
    output: Option<&Path>,
    depth: usize,
    found: &mut Vec<ExtraFile>,
) -> Result<()> {
    let failed = |e| Error::io(e, "cannot read").in_file(folder);
    let mut entries = std::fs::read_dir(folder)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let is_ours =
            name.ends_with(".weigh-partial") || path.canonicalize().ok().as_deref() == output;
        if name.starts_with('.') || is_ours {
            continue;
        }
        let inside = under.join(&name);
        match path.is_dir() {
            true if depth < MOST_DEPTH => collect(&path, &inside, output, depth + 1, found)?,
            true => {}
            false if goes_along(&name) => {
                found.push(ExtraFile { name: inside, contents: Contents::Of(path) });
            }
            false => {}
        }
    }
    Ok(())
}

fn goes_along(name: &str) -> bool {
    !containers::is_weights_or_index(name) && !OTHER_WEIGHTS.iter().any(|end| name.ends_with(end))
}

/// What becomes of a repository's configs.
struct Change<'a> {
    /// What no longer holds.
    traces: &'a [Traces],
    /// What holds now.
    additions: &'a [Additions],
    /// What configs call the type of the numbers.
    dtype: Option<&'static str>,
}

impl Change<'_> {
    /// A config with the change made; `None` for a file that stays as it is.
    fn rewritten(&self, folder: &Path, name: &Path) -> Result<Option<String>> {
        if !CONFIGS.iter().any(|config| name == Path::new(config)) {
            return Ok(None);
        }
        let path: PathBuf = folder.join(name);
        let text = std::fs::read_to_string(&path)
            .map_err(|e| Error::io(e, "cannot read").in_file(&path))?;
        let Ok(mut config) = serde_json::from_str::<Value>(&text) else { return Ok(None) };
        Ok(self.make(&mut config).then(|| format!("{config:#}\n")))
    }

    /// Changes a config; whether that changed anything.
    fn make(&self, config: &mut Value) -> bool {
        let keys: Vec<&str> =
            self.traces.iter().flat_map(|traces| traces.config_keys).copied().collect();
        let inner = config.get_mut("text_config");
        let inside = inner.is_some_and(|inner| cleaned(inner, &keys, self.dtype));
        let outside = cleaned(config, &keys, self.dtype);
        let added = self.additions.iter().flat_map(|additions| &additions.config_keys);
        let Some(entries) = config.as_object_mut() else { return inside || outside };
        let mut changed = inside || outside;
        for (key, value) in added {
            changed |= entries.get(key) != Some(value);
            entries.insert(key.clone(), value.clone());
        }
        changed
    }
}

/// Takes the keys of quantization away, and says in which type the weights are now.
fn cleaned(config: &mut Value, keys: &[&str], dtype: Option<&str>) -> bool {
    let Some(entries) = config.as_object_mut() else { return false };
    let mut changed = false;
    for key in keys {
        // `shift_remove` keeps the order of the others.
        changed |= entries.shift_remove(*key).is_some();
    }
    if let Some(named) = dtype {
        for key in ["dtype", "torch_dtype"] {
            if let Some(value) = entries.get_mut(key).filter(|value| value.is_string()) {
                changed |= *value != named;
                *value = named.into();
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_config_keeps_everything_else_in_its_order() {
        let mut config = json!({
            "z": 1, "quantization_config": { "bits": 4 }, "torch_dtype": "float16",
            "text_config": { "b": 2, "compression_config": {}, "a": 0.5 }, "a": [1, 2],
        });
        let config_keys = &["quantization_config", "compression_config"];
        let traces = [Traces { config_keys, files: &[], metadata: &[] }];
        let change = Change { traces: &traces, additions: &[], dtype: Some("bfloat16") };
        assert!(change.make(&mut config));
        let text = r#"{"z":1,"torch_dtype":"bfloat16","text_config":{"b":2,"a":0.5},"a":[1,2]}"#;
        assert_eq!(config.to_string(), text);
        assert!(!change.make(&mut config));
    }

    #[test]
    fn what_an_encoder_adds_takes_the_place_of_what_was_there() {
        let mut config = json!({ "quantization_config": { "bits": 4 }, "a": 1 });
        let traces = [Traces { config_keys: &["quantization_config"], files: &[], metadata: &[] }];
        let added = json!({ "quant_method": "new" });
        let config_keys = vec![("quantization_config".to_owned(), added)];
        let additions = [Additions { config_keys, ..Additions::default() }];
        let change = Change { traces: &traces, additions: &additions, dtype: None };
        assert!(change.make(&mut config));
        let text = r#"{"a":1,"quantization_config":{"quant_method":"new"}}"#;
        assert_eq!(config.to_string(), text);
    }

    #[test]
    fn weights_and_what_describes_them_stay_behind() {
        for name in ["model-00001-of-00002.safetensors", "pytorch_model.bin", "x.gguf"] {
            assert!(!goes_along(name), "{name}");
        }
        for name in
            ["tokenizer.json", "README.md", "LICENSE", "modeling_x.py", "generation_config.json"]
        {
            assert!(goes_along(name), "{name}");
        }
    }
}
