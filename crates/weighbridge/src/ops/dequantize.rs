//! Decodes a quantized model and keeps its form: a directory stays a repository that loads, with
//! its configs, tokenizer, code and licence.

use std::path::Path;

use serde_json::Value;

use super::convert::Conversion;
use super::convert_options::ConvertOptions;
use super::convert_report::ConvertReport;
use super::repository::{Repository, Rules, SideFiles};
use crate::dtype::DType;
use crate::error::Result;
use crate::model::Model;
use crate::pipeline::{Contents, ExtraFile, Plan, additions};
use crate::schemes::{self, Additions, Traces};

/// Configs that may say how weights are quantized and which type they have: that of transformers
/// and diffusers, and Mistral's own.
const CONFIGS: [&str; 2] = ["config.json", "params.json"];

/// Decodes what is quantized, and leaves everything else as it is. A model that was opened as a
/// directory, or by the index of one, becomes a directory again: its other files are copied, and
/// its configs describe the new weights. A single file becomes a file, or a directory of weights
/// alone.
pub fn dequantize(model: &Model, options: &ConvertOptions) -> Result<ConvertReport> {
    Conversion::plan_dequantized(model, options)?.run()
}

impl Conversion {
    /// Plans what [`dequantize`] does.
    pub fn plan_dequantized(model: &Model, options: &ConvertOptions) -> Result<Self> {
        let mut conversion = Self::plan(model, &options.clone().dequantizing())?;
        if let Some(repository) = Repository::of(model).filter(|_| conversion.is_folder()) {
            let output = options.target().canonicalize().ok();
            let reach = repository.reach(model, options.follow_links);
            let rules = Rules { output: output.as_deref(), reach: &reach, configs: &CONFIGS };
            let files = side_files(&repository, &rules, &conversion.plan)?;
            (conversion.extra, conversion.report.left_behind) = (files.copied, files.left_behind);
        }
        Ok(conversion)
    }
}

/// The files that a repository has beside its weights, with its configs brought up to date.
fn side_files(repository: &Repository, rules: &Rules<'_>, plan: &Plan) -> Result<SideFiles> {
    let (traces, additions) = (traces(plan), additions(plan.jobs()));
    let mut files = repository.side_files(rules)?;
    files.left_behind.retain(|left| !is_sidecar(Path::new(&left.name), &traces));
    let extra = &mut files.copied;
    extra.retain(|extra| !is_sidecar(&extra.name, &traces));
    let change = Change { traces: &traces, additions: &additions, dtype: decoded_type(plan) };
    for extra in extra.iter_mut() {
        if let Some(text) = change.rewritten(repository, &extra.name)? {
            extra.contents = Contents::Bytes(text.into_bytes());
        }
    }
    for (name, bytes) in additions.iter().flat_map(|additions| &additions.files) {
        extra.retain(|extra| extra.name != Path::new(name));
        let contents = Contents::Bytes(bytes.clone());
        extra.push(ExtraFile { name: name.into(), contents });
    }
    Ok(files)
}

/// What mentions the schemes that are decoded.
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

/// How a repository's configs change.
struct Change<'a> {
    /// What mentions the old schemes, and goes.
    traces: &'a [Traces],
    /// What describes the new ones.
    additions: &'a [Additions],
    /// The type of the weights, as configs name it.
    dtype: Option<&'static str>,
}

impl Change<'_> {
    /// The new text of a config; `None` for a file that stays as it is.
    fn rewritten(&self, repository: &Repository, name: &Path) -> Result<Option<String>> {
        if !CONFIGS.iter().any(|config| name == Path::new(config)) {
            return Ok(None);
        }
        let text = repository.read(name)?;
        let Ok(mut config) = serde_json::from_slice::<Value>(&text) else { return Ok(None) };
        Ok(self.make(&mut config).then(|| format!("{config:#}\n")))
    }

    /// Changes a config; returns whether that changed anything.
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

/// Removes `keys`, and names the type that the weights have now; returns whether that changed
/// anything.
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
}
