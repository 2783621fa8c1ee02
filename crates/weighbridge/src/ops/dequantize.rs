//! A quantized model as plain numbers, in the form it came in: a directory stays a repository that
//! loads, with its configs, tokenizer, code and licence.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::convert::{ConvertOptions, ConvertReport, convert_with};
use super::files::{Beside, Contents};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::pipeline::OutputType;
use crate::schemes::plain;

/// Keys of a config that say how weights are quantized.
const KEYS: [&str; 3] = ["quantization_config", "compression_config", "quantization"];

/// Files that say nothing else.
const SIDECARS: [&str; 5] = [
    "quantize_config.json",
    "quant_config.json",
    "hf_quant_config.json",
    "quantization_config.json",
    "quanto_qmap.json",
];

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
/// directory becomes one: its other files are copied, and its configs say what it is now.
pub fn dequantize(model: &Model, options: &ConvertOptions) -> Result<ConvertReport> {
    let folder = model.path();
    if !folder.is_dir() {
        return convert_with(model, &options.clone().only_decoded(), &[]);
    }
    let mut beside = Vec::new();
    let output = options.target().canonicalize().ok();
    collect(folder, Path::new(""), output.as_deref(), 0, &mut beside)?;
    let dtype = decoded_type(model, options.output_type());
    for beside in &mut beside {
        if let Some(text) = rewritten(folder, &beside.name, dtype)? {
            beside.contents = Contents::Text(text);
        }
    }
    convert_with(model, &options.clone().only_decoded(), &beside)
}

/// What configs call the type that most of what is decoded is written in.
fn decoded_type(model: &Model, types: OutputType) -> Option<&'static str> {
    let mut counts = [(DType::F32, "float32"), (DType::BF16, "bfloat16"), (DType::F16, "float16")]
        .map(|(dtype, name)| (0u64, dtype, name));
    for weight in model.weights().filter(|weight| weight.scheme() != plain::NAME) {
        let dtype = types.of(&weight);
        let count = counts.iter_mut().find(|(_, counted, _)| dtype == Some(*counted));
        if let Some((count, ..)) = count {
            *count = count.saturating_add(weight.elements());
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
    !SIDECARS.contains(&name) && !WEIGHTS.iter().any(|end| name.ends_with(end))
}

/// A config without what no longer holds; `None` for a file that stays as it is.
fn rewritten(folder: &Path, name: &Path, dtype: Option<&str>) -> Result<Option<String>> {
    if name != Path::new("config.json") {
        return Ok(None);
    }
    let path: PathBuf = folder.join(name);
    let text =
        std::fs::read_to_string(&path).map_err(|e| Error::io(e, "cannot read").in_file(&path))?;
    let Ok(mut config) = serde_json::from_str::<Value>(&text) else { return Ok(None) };
    let changed = [cleaned(&mut config, dtype), cleaned_inside(&mut config, dtype)];
    Ok(changed.contains(&true).then(|| format!("{config:#}\n")))
}

fn cleaned_inside(config: &mut Value, dtype: Option<&str>) -> bool {
    config.get_mut("text_config").is_some_and(|inner| cleaned(inner, dtype))
}

/// Takes the keys of quantization away, and says in which type the weights are now.
fn cleaned(config: &mut Value, dtype: Option<&str>) -> bool {
    let Some(entries) = config.as_object_mut() else { return false };
    let mut changed = false;
    for key in KEYS {
        // `shift_remove` keeps the order of the others.
        changed |= entries.shift_remove(key).is_some();
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
            "text_config": { "b": 2, "compression_config": {}, "a": 1e-5 }, "a": [1, 2],
        });
        let both =
            [cleaned(&mut config, Some("bfloat16")), cleaned_inside(&mut config, Some("bfloat16"))];
        assert_eq!(both, [true, true]);
        let text = r#"{"z":1,"torch_dtype":"bfloat16","text_config":{"b":2,"a":1e-5},"a":[1,2]}"#;
        assert_eq!(config.to_string(), text);
        assert!(!cleaned(&mut config, None));
    }

    #[test]
    fn weights_and_what_describes_them_stay_behind() {
        for name in
            ["model-00001-of-00002.safetensors", "quant_config.json", "pytorch_model.bin", "x.gguf"]
        {
            assert!(!goes_along(name), "{name}");
        }
        for name in
            ["tokenizer.json", "README.md", "LICENSE", "modeling_x.py", "generation_config.json"]
        {
            assert!(goes_along(name), "{name}");
        }
    }
}
