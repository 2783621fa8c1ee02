//! A summary of a model, from which each scheme tells whether it needs to look at the tensors.
//!
//! Most models hold numbers in floating point, called weights and biases, and their configs
//! do not mention quantization. Opening them takes half the time if no scheme looks any closer.

use std::cell::OnceCell;

use serde_json::Value as Json;

use crate::dtype::{DType, StoredType};
use crate::framework::{Evidence, Roster};

/// What stands in the keys of configs and metadata that have to do with quantization.
const WORDS: [&str; 3] = ["quant", "compress", "qformat"];

/// What the tensors of a model and the documents beside them have in common.
pub struct Summary<'e, 'a> {
    evidence: &'e Evidence<'a>,
    /// A bit for each element type that occurs.
    types: u32,
    has_blocks: bool,
    configs_mention_quantization: OnceCell<bool>,
}

impl<'a> Evidence<'a> {
    /// What a scheme needs to decide whether it may bid.
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
    /// What the schemes that there are state.
    pub(crate) fn schemes(&self) -> &Roster {
        self.evidence.schemes()
    }

    /// Whether a tensor has one of these types.
    #[must_use]
    pub fn has_type(&self, types: &[DType]) -> bool {
        types.iter().any(|&dtype| self.types & bit(dtype) != 0)
    }

    /// Whether a tensor is made of blocks, or of something that is not known at all.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// Whether a name may end with one of these; false only if none does.
    #[must_use]
    pub fn may_end_with(&self, suffixes: &[&str]) -> bool {
        suffixes.iter().any(|suffix| self.evidence.endings().may_end_with(suffix))
    }

    /// Whether a tensor is called anything but a weight or a bias.
    #[must_use]
    pub fn has_other_names(&self) -> bool {
        !self.evidence.endings().are_among(&["weight", "bias"])
    }

    /// Whether a key of a config mentions quantization, at any depth, or a config is a file of its
    /// own for that.
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
