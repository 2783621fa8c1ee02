//! A quantized model as plain numbers, in the form it came in: a directory stays a repository that
//! loads, with its configs, tokenizer, code and licence.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::convert::Conversion;
use super::convert_options::ConvertOptions;
use super::convert_report::ConvertReport;
use super::files::{Beside, Contents};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::pipeline::{Action, Plan};
use crate::schemes::{self, Traces};

/// Configs that may say how weights are quantized and in which type they are: that of
/// transformers and diffusers, and Mistral's own.
const CONFIGS: [&str; 2] = ["config.json", "params.json"];

/// Endings of files that hold weights, or say where they lie.
const WEIGHTS: [&str; 14] = [
    ".safetensors",
    ".safetensors.index.json",
    ".bin",
    ".bin.index.json",
    ".pt",
    ".pth",
    ".ckpt",
    ".gguf",
    ".npz",
    ".npy",
    ".apr",
    ".h5",
    ".msgpack",
    ".onnx",
];

/// How deep a repository's folders are followed.
const MOST_DEPTH: usize = 8;

/// Decodes what is quantized, and leaves everything else as it is. A model that was opened as a
/// directory, or by the index of one, becomes one: its other files are copied, and its configs
/// say what it is now. A single file becomes a file, or a directory of weights alone.
pub fn dequantize(model: &Model, options: &ConvertOptions) -> Result<ConvertReport> {
    let conversion = Conversion::of(model, &options.clone().dequantizing())?;
    let Some(folder) = repository(model) else { return conversion.run(&[], None) };
    let traces = traces(&conversion.plan);
    let mut beside = Vec::new();
    let output = options.target().canonicalize().ok();
    collect(&folder, Path::new(""), output.as_deref(), 0, &mut beside)?;
    beside.retain(|beside| !is_sidecar(&beside.name, &traces));
    let dtype = decoded_type(&conversion.plan);
    for beside in &mut beside {
        if let Some(text) = rewritten(&folder, &beside.name, &traces, dtype)? {
            beside.contents = Contents::Text(text);
        }
    }
    conversion.run(&beside, None)
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
fn traces(plan: &Plan<'_>) -> Vec<Traces> {
    let decoded = plan.jobs().filter(|job| job.action == Action::Decode);
    let mut names: Vec<&str> = decoded.map(|job| job.scheme().0).collect();
    names.sort_unstable();
    names.dedup();
    schemes::traces(&names).collect()
}

fn is_sidecar(name: &Path, traces: &[Traces]) -> bool {
    traces.iter().any(|traces| traces.files.iter().any(|file| name == Path::new(file)))
}

/// What configs call the type that most of what is decoded is written in.
fn decoded_type(plan: &Plan<'_>) -> Option<&'static str> {
    let mut counts = [(DType::F32, "float32"), (DType::BF16, "bfloat16"), (DType::F16, "float16")]
        .map(|(dtype, name)| (0u64, dtype, name));
    for job in plan.jobs().filter(|job| job.action == Action::Decode) {
        let count = counts.iter_mut().find(|(_, counted, _)| job.dtype() == *counted);
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
    found: &mut Vec<Beside>,
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
                found.push(Beside { name: inside, contents: Contents::Of(path) });
            }
            false => {}
        }
    }
    Ok(())
}

fn goes_along(name: &str) -> bool {
    !WEIGHTS.iter().any(|end| name.ends_with(end))
}

/// A config without what no longer holds; `None` for a file that stays as it is.
fn rewritten(
    folder: &Path,
    name: &Path,
    traces: &[Traces],
    dtype: Option<&str>,
) -> Result<Option<String>> {
    if !CONFIGS.iter().any(|config| name == Path::new(config)) {
        return Ok(None);
    }
    let path: PathBuf = folder.join(name);
    let text =
        std::fs::read_to_string(&path).map_err(|e| Error::io(e, "cannot read").in_file(&path))?;
    let Ok(mut config) = serde_json::from_str::<Value>(&text) else { return Ok(None) };
    let keys: Vec<&str> = traces.iter().flat_map(|traces| traces.config_keys).copied().collect();
    let changed = [cleaned(&mut config, &keys, dtype), cleaned_inside(&mut config, &keys, dtype)];
    Ok(changed.contains(&true).then(|| format!("{config:#}\n")))
}

fn cleaned_inside(config: &mut Value, keys: &[&str], dtype: Option<&str>) -> bool {
    config.get_mut("text_config").is_some_and(|inner| cleaned(inner, keys, dtype))
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
        let (keys, dtype) = (["quantization_config", "compression_config"], Some("bfloat16"));
        let both = [cleaned(&mut config, &keys, dtype), cleaned_inside(&mut config, &keys, dtype)];
        assert_eq!(both, [true, true]);
        let text = r#"{"z":1,"torch_dtype":"bfloat16","text_config":{"b":2,"a":0.5},"a":[1,2]}"#;
        assert_eq!(config.to_string(), text);
        assert!(!cleaned(&mut config, &keys, None));
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
