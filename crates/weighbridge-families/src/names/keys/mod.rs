//! The metadata of a GGUF file, from what a model's repository says about itself.
//!
//! Everything here follows llama.cpp's own converter: which entries there are, their types, their
//! order. The converter asks transformers for the config, which fills in what config.json leaves
//! out; `classes` has those values, `settings` applies them, `table` lists what each
//! family writes.
//! `general` is about names, licences and languages, out of the model card (`card`) and the name
//! of the folder (`title`). Tokenizers are somebody else's.

use serde_json::Value as Json;

use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::tokenizer;

pub mod back;
mod card;
mod classes;
mod encoders;
mod families;
mod general;
mod made;
mod rope;
mod settings;
mod table;
#[cfg(test)]
mod tests;
mod title;

use families::{Family, family_of};
use rope::{long_rope_factors, rope_factors};
use settings::Settings;

/// What a repository says about its model.
pub struct About<'a> {
    /// config.json as it is.
    pub config: &'a Json,
    /// generation_config.json, if it is there.
    pub generation: Option<&'a Json>,
    /// The text of README.md, if it is there.
    pub card: Option<&'a str>,
    /// How the vectors of all tokens become one, as sentence-transformers say it in a file of its own.
    pub pooling: Option<&'a Json>,
    /// The name of the folder.
    pub folder: &'a str,
    /// How large the model is.
    pub parameters: Parameters,
    /// general.file_type of what is written (0 F32, 1 F16, 7 Q8_0, 32 BF16, ..).
    pub file_type: u32,
}

/// How many numbers a model has, as `general.size_label` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// All of them.
    pub total: u64,
    /// Those outside the stacks of experts.
    pub shared: u64,
    /// Those of one expert, in all layers.
    pub expert: u64,
    /// How many experts there are.
    pub experts: u64,
}

impl Parameters {
    /// Counts tensors of a GGUF file: their names there, and their shapes, outermost first.
    pub fn of<'a>(tensors: impl IntoIterator<Item = (&'a str, &'a [u64])>) -> Self {
        let mut all = Self::default();
        let (mut sum, mut stacks) = (0_u64, 0_u64);
        for (name, shape) in tensors {
            let size = shape.iter().fold(1_u64, |size, side| size.saturating_mul(*side));
            let from_end = if name.contains(".bias") { 2 } else { 3 };
            let experts = shape.len().checked_sub(from_end).and_then(|at| shape.get(at)).copied();
            match experts.filter(|_| name.contains("_exps.") && shape.len() >= 3) {
                Some(experts) => {
                    all.expert = all.expert.saturating_add(size.checked_div(experts).unwrap_or(0));
                    sum = sum.saturating_add(experts);
                    stacks += 1;
                }
                None => all.shared = all.shared.saturating_add(size),
            }
            all.total = all.total.saturating_add(size);
        }
        all.experts = sum.checked_div(stacks).unwrap_or(0);
        all
    }
}

/// The entries before the tokenizer's, in the converter's order.
///
/// An error names the family or the key that is missing.
pub fn entries(about: &About<'_>) -> Result<Vec<(String, Value)>> {
    let family = family_of(about.config).ok_or_else(|| unknown(about.config))?;
    let mut settings = Settings::of(about.config);
    if let Some(pooling) = about.pooling {
        settings.state(encoders::POOLING, pooling.clone());
    }
    refuse(about, family, &settings)?;
    settings.forget(family.ignored);
    let mut all = Entries(Vec::new());
    all.set("general.architecture".into(), Value::text(family.architecture));
    family.write(family.early, &settings, about.file_type, &mut all)?;
    for (key, value) in general::entries(about) {
        all.set(key, value);
    }
    for rows in family.rows {
        family.write(rows, &settings, about.file_type, &mut all)?;
    }
    all.set("general.quantization_version".into(), Value::Unsigned(32, 2));
    Ok(all.0)
}

/// The entries of an adapter's file. Only `base`, the config of its base model, tells the
/// architecture; everything else is said about the adapter itself.
pub fn adapter_entries(
    base: &Json,
    about: &About<'_>,
    own: Vec<(String, Value)>,
) -> Result<Vec<(String, Value)>> {
    let family = family_of(base).ok_or_else(|| unknown(base))?;
    let mut all = Entries(Vec::new());
    all.set("general.architecture".into(), Value::text(family.architecture));
    all.set("general.type".into(), Value::text("adapter"));
    all.set("adapter.type".into(), Value::text("lora"));
    let general = general::entries(about).into_iter().filter(|(key, _)| key != "general.type");
    for (key, value) in general.chain(own) {
        all.set(key, value);
    }
    all.set("general.quantization_version".into(), Value::Unsigned(32, 2));
    Ok(all.0)
}

/// The architecture's name in GGUF, from `architectures[0]` or `model_type`; `None` if it is not known.
pub fn architecture(config: &Json) -> Option<&'static str> {
    family_of(config).map(|family| family.architecture)
}

/// How the tokenizer of a model is read; None if that is not known.
pub fn tokenizer(config: &Json) -> Option<tokenizer::Kind> {
    family_of(config)?.tokenizer
}
pub(super) use encoders::first_position;

/// How many tokens the model's embedding has rows for.
pub fn vocabulary(config: &Json) -> Option<u64> {
    Settings::of(config).count("vocab_size")
}

/// Tensors of the file that no weight of the model becomes: they follow from its config.
pub fn computed_tensors(config: &Json) -> Vec<(&'static str, Vec<f32>)> {
    let mut tensors = Vec::new();
    tensors.extend(rope_factors(config).map(|factors| ("rope_freqs.weight", factors)));
    if let Some((long, short)) = long_rope_factors(config) {
        tensors.push(("rope_factors_long.weight", long));
        tensors.push(("rope_factors_short.weight", short));
    }
    tensors
}

/// Entries in the order in which they were first set.
struct Entries(Vec<(String, Value)>);

impl Entries {
    fn set(&mut self, key: String, value: Value) {
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key, value)),
        }
    }
}

fn unknown(config: &Json) -> Error {
    let class = config["architectures"][0].as_str().or(config["model_type"].as_str());
    let class = crate::text::escaped(class.unwrap_or("a model of no stated class"));
    Error::unsupported(format!("what a GGUF file says of {class} is not known"))
}

/// Models that look like one of a family and are converted in another way.
fn refuse(about: &About<'_>, family: &Family, settings: &Settings) -> Result<()> {
    let no = |what: &str| Err(Error::unsupported(format!("{what} is not converted into GGUF yet")));
    if settings.find(&["draft_vocab_size"]).is_some() {
        return no("a draft model (EAGLE-3)");
    }
    if settings.has_sections() && !family.has_sections {
        return no("a model with rotary sections (M-RoPE)");
    }
    if family.architecture == "nomic-bert" {
        encoders::check_nomic(settings)?;
    }
    let named = settings.find(&["_name_or_path"]).and_then(Json::as_str).unwrap_or_default();
    let is_reranker = |text: &str| text.to_lowercase().contains("qwen3-reranker");
    let titled = about.card.is_some_and(|card| card.to_lowercase().contains("# qwen3-reranker"));
    if family.architecture == "qwen3" && (titled || is_reranker(about.folder) || is_reranker(named))
    {
        return no("a reranker, whose output head is cut from the vocabulary,");
    }
    Ok(())
}
