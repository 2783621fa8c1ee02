//! An adapter (LoRA) of a Hugging Face model as llama.cpp wants it.
//!
//! An adapter holds, for some weights of its base model, two narrow matrices: A, `[rank, in]`, and B,
//! `[out, rank]`, whose product is added to the weight. What is done to the rows of a weight on the
//! way into GGUF is done to the rows of B, so the weight that the two stand for is translated by its
//! name and shape, and the outcome is looked up for each of them.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value as Json;

use super::Translated;
use super::siblings::{file_in, home};
use super::to_gguf::{card, order, types};
use crate::catalog::{Shape, Value};
use crate::config::{self, ADAPTER, Config, HUGGING_FACE};
use crate::containers::writing::Entries;
use crate::error::{Error, Remedy, Result};
use crate::model::{Derived, MadeOf, Model, Weight};
use crate::names::{self, Named, Side, View, keys};
use crate::ops::conversion::Task;
use crate::pipeline::{Kept, set_entry};
use crate::text::escaped;

/// Whether the weights are those of an adapter.
pub(super) fn is_adapter(model: &Model) -> bool {
    let is_stated = config::find(model.configs(), ADAPTER).is_some();
    is_stated && model.weights().any(|weight| ENDS.iter().any(|end| weight.name().ends_with(end)))
}

/// What the names of an adapter's matrices end with, and which of the two it is.
const ENDS: [&str; 2] = [".lora_A.weight", ".lora_B.weight"];

/// What names of an adapter begin with.
const START: &str = "base_model.model.";

/// A weight of the base model that the adapter changes.
struct Changed {
    name: String,
    shape: Shape,
    /// The two matrices whose product is added to it.
    a: Weight,
    b: Weight,
}

/// Translates an adapter.
pub(super) fn to_gguf(model: &Model, task: &Task<'_>) -> Result<Translated> {
    let settings = config::find(model.configs(), ADAPTER).unwrap_or(&Json::Null);
    refuse_unlike(settings)?;
    let base = base_config(model, settings, task.options.base.as_deref())?;
    let changed = changed(model)?;
    let configs = [Config { name: HUGGING_FACE.to_owned(), json: base.clone() }];
    let side = Side {
        weights: changed.iter().map(|one| Named { name: &one.name, shape: &one.shape }).collect(),
        configs: &configs,
        metadata: Vec::new(),
    };
    let translation = names::to_gguf(&side, &(0..changed.len()).collect::<Vec<_>>(), None)?;
    if let Some((index, reason)) = translation.left_out.first() {
        let message = format!("the base model's GGUF file has no such tensor: {reason}");
        return Err(Error::unsupported(message).in_tensor(&changed[*index].name));
    }
    let mut derived = Vec::new();
    for tensor in translation.tensors {
        derived.extend(parts(tensor, &changed)?);
    }
    let types = types(&derived, task.values.dtype(), &|_| false);
    let metadata = Kept { entries: metadata(model, settings, &base)?, left_out: Vec::new() };
    Ok(Translated { types, metadata, ..Translated::new(model.derived(derived)?) })
}

/// Kinds of adapters whose effect llama.cpp would not reproduce: it multiplies the product of the
/// matrices by one number over the rank, and adds it.
fn refuse_unlike(settings: &Json) -> Result<()> {
    let kind = settings["peft_type"].as_str().unwrap_or("LORA");
    let is_said = |key: &str| match &settings[key] {
        Json::Null | Json::Bool(false) => false,
        Json::Object(map) => !map.is_empty(),
        Json::Array(list) => !list.is_empty(),
        Json::String(text) => !text.is_empty() && text != "none",
        _ => true,
    };
    let unlike = ["use_dora", "alpha_pattern", "lora_bias", "fan_in_fan_out", "modules_to_save"];
    let found = match unlike.into_iter().chain(["use_qalora", "bias"]).find(|key| is_said(key)) {
        _ if kind != "LORA" => format!("`peft_type` is `{}`", escaped(kind)),
        Some(key) => format!("`{key}` is set"),
        None if is_said("invocation_string") && !is_said("alora_invocation_tokens") => {
            "`invocation_string` is set without `alora_invocation_tokens`".to_owned()
        }
        None => return Ok(()),
    };
    let message = format!("{ADAPTER}: {found}, which llama.cpp does not support");
    Err(Error::unsupported(message).remedy(Remedy::KeepNames))
}

/// The config of the base model.
fn base_config(model: &Model, settings: &Json, base: Option<&Path>) -> Result<Json> {
    let Some(base) = base else {
        let name = settings["base_model_name_or_path"].as_str();
        let name = name.map(|name| format!(" ({})", escaped(name))).unwrap_or_default();
        let message = format!("an adapter needs the config of its base model{name}");
        return Err(Error::unsupported(message).remedy(Remedy::StateBase));
    };
    let text = file_in(model, base, HUGGING_FACE)?
        .ok_or_else(|| Error::usage(format!("{HUGGING_FACE} not found")).in_file(base))?;
    config::parse(&text).map_err(|error| error.in_file(&base.join(HUGGING_FACE)))
}

/// The weights of the base model that the adapter changes. What it would replace as a whole, such as
/// a norm, is refused: llama.cpp passes over it.
fn changed(model: &Model) -> Result<Vec<Changed>> {
    let weights: Vec<Weight> = model.weights().collect();
    let mut pairs = Vec::<(String, [Option<Weight>; 2])>::new();
    let mut by_name = HashMap::new();
    for index in order(&weights) {
        let weight = &weights[index];
        let stem = weight.name().strip_prefix(START).unwrap_or(weight.name());
        let mut halves = ENDS.iter().enumerate();
        let half = halves.find_map(|(half, end)| Some((stem.strip_suffix(end)?, half)));
        let Some((stem, half)) = half else {
            let message = "not a LoRA matrix (lora_A or lora_B)";
            let error = Error::unsupported(message).in_tensor(weight.name());
            return Err(error.remedy(Remedy::KeepNames));
        };
        let at = *by_name.entry(stem.to_owned()).or_insert_with(|| {
            pairs.push((format!("{stem}.weight"), [None, None]));
            pairs.len() - 1
        });
        pairs[at].1[half] = Some(weight.clone());
    }
    pairs.into_iter().map(pair).collect()
}

fn pair((name, halves): (String, [Option<Weight>; 2])) -> Result<Changed> {
    let [Some(a), Some(b)] = halves else {
        let message = "one of its two LoRA matrices is missing";
        return Err(Error::malformed(message).in_tensor(&name));
    };
    match (a.shape(), b.shape()) {
        (&[rank, columns], &[rows, other]) if rank == other && rank > 0 => {
            Ok(Changed { name, shape: [rows, columns].into_iter().collect(), a, b })
        }
        (first, second) => {
            let message =
                format!("LoRA matrices of shapes {first:?} and {second:?} cannot be multiplied");
            Err(Error::malformed(message).in_tensor(&name))
        }
    }
}

/// The tensors that one tensor of the base model becomes.
fn parts(tensor: names::Tensor, changed: &[Changed]) -> Result<Vec<Derived>> {
    let names::Tensor { name, shape, pieces, .. } = tensor;
    let (mut all_a, mut all_b) = (Vec::new(), Vec::new());
    for (index, view) in pieces {
        let Changed { a, b, .. } = &changed[index];
        let is_by_rows = view.transposed.is_none() && view.shape.len() == 2;
        if !is_by_rows || view.changes_values() || view.row_len() != a.shape()[1] {
            let message = "the conversion of this weight cannot be applied to a LoRA adapter";
            return Err(Error::unsupported(message).in_tensor(&changed[index].name));
        }
        all_a.push((a.clone(), View::whole(a.shape())));
        let rank = b.shape().last().copied().unwrap_or(1);
        let shape = [view.shape[0], rank].into_iter().collect();
        all_b.push((b.clone(), View { shape, ..view }));
    }
    let stacked = (shape.len() == 3).then_some(shape[0]);
    Ok(vec![
        half(format!("{name}.lora_a"), stacked, all_a)?,
        half(format!("{name}.lora_b"), stacked, all_b)?,
    ])
}

/// One of the two matrices, of one weight or of a stack of them.
fn half(name: String, stacked: Option<u64>, pieces: Vec<(Weight, View)>) -> Result<Derived> {
    let mut shapes = pieces.iter().map(|(_, view)| view.shape.clone());
    let mut shape = shapes.next().unwrap_or_default();
    if shapes.any(|other| other != shape) {
        return Err(Error::malformed("the LoRA ranks of its experts differ").in_tensor(&name));
    }
    if let Some(count) = stacked {
        shape.insert(0, count);
    }
    Ok(Derived { name, shape, from: MadeOf::Weights(pieces) })
}

fn metadata(model: &Model, settings: &Json, base: &Json) -> Result<Entries> {
    let card = card(model)?;
    let folder = home(model).file_name().unwrap_or_default().to_string_lossy();
    let about = keys::About {
        config: &Json::Null,
        generation: None,
        card: card.as_deref(),
        folder: &folder,
        parameters: keys::Parameters::default(),
        file_type: 0,
        pooling: None,
        next_layers: keys::NextCount::Stated,
        measured: &[],
    };
    let mut own = vec![("adapter.lora.alpha".to_owned(), Value::F32(alpha(settings)?))];
    own.extend(invocation(settings)?);
    let mut entries = Entries::new();
    for (key, value) in keys::adapter_entries(base, &about, own)? {
        set_entry(&mut entries, &key, value);
    }
    Ok(entries)
}

/// What the product is multiplied by, times the rank. Adapters that were trained with the root of
/// the rank instead (`use_rslora`) say so, and get a number with which llama.cpp does the same.
fn alpha(settings: &Json) -> Result<f32> {
    let number = |key: &str| {
        settings[key].as_f64().ok_or_else(|| Error::malformed(format!("{ADAPTER} has no `{key}`")))
    };
    let mut alpha = number("lora_alpha")?;
    if settings["use_rslora"] == true {
        if settings["rank_pattern"].as_object().is_some_and(|ranks| !ranks.is_empty()) {
            let message = "llama.cpp does not support `use_rslora` with `rank_pattern`";
            return Err(Error::unsupported(format!("{ADAPTER}: {message}")));
        }
        alpha *= number("r")?.sqrt();
    }
    #[allow(clippy::cast_possible_truncation)] // f32 is what the file has.
    Ok(alpha as f32)
}

/// The tokens that switch the adapter on, if it is of that kind.
fn invocation(settings: &Json) -> Result<Option<(String, Value)>> {
    let Some(tokens) =
        settings["alora_invocation_tokens"].as_array().filter(|list| !list.is_empty())
    else {
        return Ok(None);
    };
    let token = |token: &Json| {
        let number = token.as_u64().filter(|number| u32::try_from(*number).is_ok());
        number.map(|number| Value::Unsigned(32, number))
    };
    let tokens: Option<Vec<Value>> = tokens.iter().map(token).collect();
    let tokens = tokens.ok_or_else(|| {
        Error::malformed(format!(
            "{ADAPTER}: `alora_invocation_tokens` has entries that are not token ids"
        ))
    })?;
    Ok(Some(("adapter.alora.invocation_tokens".to_owned(), Value::List(tokens))))
}
