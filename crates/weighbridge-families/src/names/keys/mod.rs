//! The metadata of a GGUF file, from what a model's repository says about itself.
//!
//! Everything here follows llama.cpp's own converter: which entries there are, their types, their
//! order. Each family's file lists what its files have. The converter asks transformers for the config,
//! which fills in what config.json leaves out.
//! `general` is about names, licences and languages, out of the model card (`card`) and the name
//! of the folder (`title`). Tokenizers are somebody else's.

use serde_json::Value as Json;

use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::tokenizer;

pub mod back;
mod card;
mod entries;
mod general;
#[cfg(test)]
mod tests;
mod title;

pub(super) use crate::families::first_position;
pub use crate::families::{About, NextCount, Parameters};
use crate::families::{
    Family, GENERATION, POOLING_STEP, Settings, account, check_scaling, not_yet, of_config,
    settings, text_part,
};
use crate::tokenizer::Entries;
use crate::warning::Warning;
pub(crate) use entries::typed;
use entries::write;

/// Returns the entries before the tokenizer's, in the converter's order.
///
/// Errors name the unsupported family or the missing key.
pub fn entries(about: &About<'_>) -> Result<Vec<(String, Value)>> {
    let family = of_config(about.config).ok_or_else(|| unknown(about.config))?;
    let mut settings = crate::families::settings(about.config);
    if let Some(pooling) = about.pooling {
        settings.state(POOLING_STEP, pooling.clone());
    }
    if let Some(generation) = about.generation {
        settings.state(GENERATION, generation.clone());
    }
    for (key, numbers) in about.measured {
        settings.state(key, numbers.clone());
    }
    match (family.counts_next, about.next_layers) {
        (Some(key), NextCount::Counted(counted)) => settings.state(key, counted.into()),
        (Some(key), NextCount::Dropped) => settings.state(key, Json::Null),
        _ => {}
    }
    refuse(about, family, &settings)?;
    settings.forget(family.ignored);
    let mut all = Entries::default();
    all.text("general.architecture", family.architecture);
    write(family, family.early, &settings, about.file_type, &mut all)?;
    for (key, value) in general::entries(about) {
        all.set(key, value);
    }
    for rows in family.keys {
        write(family, rows, &settings, about.file_type, &mut all)?;
    }
    all.id("general.quantization_version", 2);
    Ok(all.finished())
}

/// Returns the entries that describe a file of another kind to people.
pub(crate) fn described(about: &About<'_>, kind: &str) -> Vec<(String, Value)> {
    let mut all = general::entries(about);
    all.iter_mut().filter(|(key, _)| key == "general.type").for_each(|(_, value)| {
        *value = Value::text(kind);
    });
    all
}

/// Returns warnings about settings that llama.cpp does not follow. `tensors` are those of the file.
pub fn warnings(about: &About<'_>, tensors: &[&str]) -> Vec<Warning> {
    let Some(family) = of_config(about.config) else { return Vec::new() };
    let settings = crate::families::settings(about.config);
    // What is read for the entries is carried.
    for rows in [&[family.early], family.keys].concat() {
        let _ = write(family, rows, &settings, about.file_type, &mut Entries::default());
    }
    let _ = (family.computed)(&settings);
    account(family, &settings, tensors)
}

/// The entries of an adapter's file. Only `base`, the config of its base model, tells the
/// architecture; everything else is said about the adapter itself.
pub fn adapter_entries(
    base: &Json,
    about: &About<'_>,
    own: Vec<(String, Value)>,
) -> Result<Vec<(String, Value)>> {
    let family = of_config(base).ok_or_else(|| unknown(base))?;
    let mut all = Entries::default();
    all.text("general.architecture", family.architecture);
    all.text("general.type", "adapter");
    all.text("adapter.type", "lora");
    let general = general::entries(about).into_iter().filter(|(key, _)| key != "general.type");
    for (key, value) in general.chain(own) {
        all.set(key, value);
    }
    all.id("general.quantization_version", 2);
    Ok(all.finished())
}

/// The architecture's name in GGUF, from `architectures[0]` or `model_type`; `None` if it is not known.
pub fn architecture(config: &Json) -> Option<&'static str> {
    of_config(config).map(|family| family.architecture)
}

/// What has to be said of a model with `counted` layers that predict further tokens, if its config
/// counts another number of them.
#[must_use]
pub fn note_on_next_layers(config: &Json, counted: Option<u64>) -> Option<String> {
    let key = of_config(config)?.counts_next?;
    let inner = text_part(config).filter(|inner| inner.get(key).is_some());
    let stated = inner.unwrap_or(config)[key].as_u64().unwrap_or(0);
    let counted = counted.filter(|counted| *counted != stated)?;
    let layers = if stated == 1 { "layer" } else { "layers" };
    Some(format!(
        "config.json states {stated} next-token prediction {layers} (`{key}`), but the weights have \
         {counted}; the output states {counted}"
    ))
}

/// Returns how to read the tokenizer of a model; `None` if unknown.
pub fn tokenizer(config: &Json) -> Option<tokenizer::TokenizerKind> {
    of_config(config).map(|family| family.tokenizer)
}

/// Returns the number of rows of the model's embedding.
pub fn vocabulary(config: &Json) -> Option<u64> {
    settings(config).count("vocab_size")
}

/// Returns how many rows a tensor has to have, if the weights may have fewer: the others are zeros.
pub fn padded_rows(config: &Json, tensor: &str) -> Option<u64> {
    let family = of_config(config)?;
    family.padded.contains(&tensor).then(|| settings(config).count("vocab_size"))?
}

/// Returns the tensors that are computed from the config, not from weights.
pub fn computed_tensors(config: &Json) -> Vec<(&'static str, Vec<f32>)> {
    of_config(config).map_or_else(Vec::new, |family| (family.computed)(&settings(config)))
}

/// Returns the settings of a language model, with everything that transformers fills in and one name
/// for each rotary parameter, wherever the config has it.
pub fn effective(config: &Json) -> Vec<(String, Json)> {
    settings(config).all()
}

/// Whether a tensor has the type of matrices in such a model, though other families have it in F32.
#[must_use]
pub fn keeps_type(config: &Json, tensor: &str) -> bool {
    of_config(config).is_some_and(|family| family.keeps.iter().any(|end| tensor.ends_with(end)))
}

/// Whether a tensor is computed from the config, not from weights.
pub fn is_computed(name: &str) -> bool {
    crate::families::is_factors(name)
}

fn unknown(config: &Json) -> Error {
    let class = config["architectures"][0].as_str().or(config["model_type"].as_str());
    let class = crate::text::escaped(class.unwrap_or("without a stated class"));
    Error::unsupported(format!("unsupported model {class}: its GGUF metadata is unknown"))
}

/// Models that look like one of a family and are converted in another way.
fn refuse(about: &About<'_>, family: &Family, settings: &Settings) -> Result<()> {
    if settings.find(&["draft_vocab_size"]).is_some() {
        return Err(not_yet("draft models (EAGLE-3)"));
    }
    if settings.has_sections() && !family.has_sections {
        return Err(not_yet("models with rotary sections (M-RoPE)"));
    }
    check_scaling(settings)?;
    (family.refuse)(settings, about)
}
