//! A summary of a model, by which each scheme decides whether to look at the tensors.
//!
//! Most models hold floating-point weights and biases, and their configs do not mention
//! quantization. Opening them takes half the time if no scheme looks any closer.

use std::cell::OnceCell;

use serde_json::Value as Json;

use crate::dtype::{DType, StoredType};
use crate::framework::{Evidence, Roster};

/// Substrings of config and metadata keys that concern quantization.
const WORDS: [&str; 3] = ["quant", "compress", "qformat"];

/// A summary of a model's tensors, configs and metadata.
pub struct Summary<'e, 'a> {
    evidence: &'e Evidence<'a>,
    /// One bit for each element type that occurs.
    types: u32,
    has_blocks: bool,
    configs_mention_quantization: OnceCell<bool>,
}

impl<'a> Evidence<'a> {
    /// Summarises the evidence, for schemes to decide whether to bid.
    #[must_use]
    pub fn summary(&self) -> Summary<'_, 'a> {
        let (mut types, mut has_blocks) = (0, false);
        for (_, info) in self.tensors() {
            match &info.stored {
                StoredType::Element(dtype) => types |= bit(*dtype),
                _ => has_blocks = true,
            }
        }
        let configs_mention_quantization = OnceCell::new();
        Summary { evidence: self, types, has_blocks, configs_mention_quantization }
    }
}

impl Summary<'_, '_> {
    /// Returns the facts about all schemes.
    pub(crate) fn schemes(&self) -> &Roster {
        self.evidence.schemes()
    }

    /// Whether a tensor has one of these types.
    #[must_use]
    pub fn has_type(&self, types: &[DType]) -> bool {
        types.iter().any(|&dtype| self.types & bit(dtype) != 0)
    }

    /// Whether a tensor has a block type or an unknown type.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// Whether a name may end in one of these suffixes; false only if none does.
    #[must_use]
    pub fn may_end_with(&self, suffixes: &[&str]) -> bool {
        suffixes.iter().any(|suffix| self.evidence.endings().may_end_with(suffix))
    }

    /// Whether a tensor has a name other than weight or bias.
    #[must_use]
    pub fn has_other_names(&self) -> bool {
        !self.evidence.endings().are_among(&["weight", "bias"])
    }

    /// Whether a key of a config mentions quantization, at any depth, or a config file exists only
    /// for that.
    #[must_use]
    pub fn configs_mention_quantization(&self) -> bool {
        *self.configs_mention_quantization.get_or_init(|| {
            let (schemes, configs) = (self.evidence.schemes(), self.evidence.configs().all);
            configs.iter().any(|config| {
                mentions_quantization(&config.name, schemes)
                    || has_quantization_key(&config.json, schemes)
            })
        })
    }

    /// Whether a key of a file's metadata mentions quantization.
    #[must_use]
    pub fn metadata_mentions_quantization(&self) -> bool {
        let schemes = self.evidence.schemes();
        let mut keys = self.evidence.metadata().iter().flat_map(|all| all.iter());
        keys.any(|(key, _)| mentions_quantization(key, schemes))
    }
}

#[allow(clippy::cast_lossless)] // `u32::from` knows no enums.
fn bit(dtype: DType) -> u32 {
    1 << dtype as u32
}

/// Whether a key or the name of a file mentions quantization.
fn mentions_quantization(key: &str, schemes: &Roster) -> bool {
    WORDS.iter().any(|word| key.contains(word)) || schemes.config_keys.contains(&key)
}

fn has_quantization_key(json: &Json, schemes: &Roster) -> bool {
    match json {
        Json::Object(keys) => keys.iter().any(|(key, value)| {
            mentions_quantization(key, schemes) || has_quantization_key(value, schemes)
        }),
        Json::Array(values) => values.iter().any(|value| has_quantization_key(value, schemes)),
        _ => false,
    }
}
