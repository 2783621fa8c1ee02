//! An adapter as its files describe it: `adapter_config.json` of PEFT, or the metadata of a GGUF
//! file.

use serde_json::Value as Json;

use crate::catalog::Value;
use crate::config::{self, ADAPTER};
use crate::model::Model;
use crate::ops::reports::reports;

reports! {
    /// A LoRA or another adapter: small matrices that change a base model.
    pub struct AdapterReport {
        pub kind: String,
        pub rank: Option<u64>,
        pub alpha: Option<f64>,
        pub target_modules: Vec<String>,
        pub base_model: Option<String>,
    }
}

/// What the names of the first of an adapter's two matrices end with, in PEFT and in GGUF.
const FIRST_MATRIX: [&str; 2] = [".lora_A.weight", ".lora_a"];

/// What an adapter is; `None` of any other model.
///
/// A merged model may keep the config of its adapter, so the weights have to be an adapter's too.
pub(super) fn report(model: &Model) -> Option<AdapterReport> {
    match config::find(model.configs(), ADAPTER) {
        Some(settings) => {
            let kind = settings["peft_type"].as_str().unwrap_or("LORA");
            (kind != "LORA" || rank_of_weights(model).is_some()).then(|| from_peft(kind, settings))
        }
        None => from_gguf(model),
    }
}

fn from_peft(kind: &str, settings: &Json) -> AdapterReport {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let mut targets: Vec<String> = match &settings["target_modules"] {
        Json::Array(names) => names.iter().filter_map(text).collect(),
        other => text(other).into_iter().collect(),
    };
    // PEFT writes a set, in no order.
    targets.sort();
    AdapterReport {
        kind: kind.to_lowercase(),
        rank: settings["r"].as_u64(),
        alpha: settings["lora_alpha"].as_f64(),
        target_modules: targets,
        base_model: text(&settings["base_model_name_or_path"]),
    }
}

fn from_gguf(model: &Model) -> Option<AdapterReport> {
    let metadata = model.metadata();
    let value = |wanted: &str| metadata.iter().find(|(key, ..)| *key == wanted).map(|of| of.1);
    let text = |key: &str| value(key).and_then(Value::as_str).map(str::to_owned);
    if text("general.type")? != "adapter" {
        return None;
    }
    let base = text("general.base_model.0.repo_url").or(text("general.base_model.0.name"));
    Some(AdapterReport {
        kind: text("adapter.type").unwrap_or_else(|| "lora".to_owned()),
        rank: rank_of_weights(model),
        alpha: value("adapter.lora.alpha").and_then(|alpha| alpha.to_json().as_f64()),
        target_modules: targets_of_weights(model),
        base_model: base,
    })
}

/// The rank, by the shape of the first matrix.
fn rank_of_weights(model: &Model) -> Option<u64> {
    let is_first = |name: &str| FIRST_MATRIX.iter().any(|end| name.ends_with(end));
    let first = model.weights().find(|weight| is_first(weight.name()))?;
    first.shape().iter().rev().nth(1).copied()
}

/// The modules that have matrices, each once: `attn_q` of `blk.0.attn_q.weight.lora_a`.
fn targets_of_weights(model: &Model) -> Vec<String> {
    let mut targets: Vec<String> = model
        .weights()
        .filter_map(|weight| {
            let name = weight.name().strip_suffix(".weight.lora_a")?;
            Some(name.rsplit('.').next().unwrap_or(name).to_owned())
        })
        .collect();
    targets.sort();
    targets.dedup();
    targets
}
