//! A summary of a model, from which each scheme tells whether it needs to look at the tensors.
//!
//! Most models hold numbers in floating point, called weights and biases, and their configs
//! do not mention quantization. Opening them takes half the time if no scheme looks any closer.

use std::cell::OnceCell;

use serde_json::Value as Json;

use crate::SCHEMES;
use crate::dtype::{DType, StoredType};
use crate::framework::Evidence;

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

impl<'e, 'a> Summary<'e, 'a> {
    pub(crate) fn of(evidence: &'e Evidence<'a>) -> Self {
        let (mut types, mut has_blocks) = (0, false);
        for (_, info) in evidence.tensors() {
            match &info.stored {
                StoredType::Element(dtype) => types |= bit(*dtype),
                _ => has_blocks = true,
            }
        }
        Self { evidence, types, has_blocks, configs_mention_quantization: OnceCell::new() }
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
            let configs = self.evidence.configs().all();
            configs.iter().any(|config| {
                mentions_quantization(&config.name) || has_quantization_key(&config.json)
            })
        })
    }

    /// Whether a key of a file's metadata mentions quantization.
    #[must_use]
    pub fn metadata_mentions_quantization(&self) -> bool {
        self.evidence
            .metadata()
            .iter()
            .any(|all| all.iter().any(|(key, _)| mentions_quantization(key)))
    }
}

#[allow(clippy::cast_lossless)] // `u32::from` knows no enums.
fn bit(dtype: DType) -> u32 {
    1 << dtype as u32
}

/// Whether a key or the name of a file mentions quantization.
fn mentions_quantization(key: &str) -> bool {
    let is_own = || SCHEMES.iter().any(|scheme| scheme.config_keys().contains(&key));
    WORDS.iter().any(|word| key.contains(word)) || is_own()
}

fn has_quantization_key(json: &Json) -> bool {
    match json {
        Json::Object(keys) => keys
            .iter()
            .any(|(key, value)| mentions_quantization(key) || has_quantization_key(value)),
        Json::Array(values) => values.iter().any(has_quantization_key),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config_files;
    use crate::framework::testing::{evidence, tensors};

    #[test]
    fn a_word_is_found_at_any_depth() {
        let json = serde_json::json!({"a": [{"b": {"quantization_config": 1}}]});
        assert!(has_quantization_key(&json));
        assert!(!has_quantization_key(
            &serde_json::json!({"a": ["quantization"], "b": {"c": "fp8"}})
        ));
        assert!(config_files().into_iter().all(mentions_quantization));
    }

    #[test]
    fn types_and_names_are_those_of_the_tensors() {
        let stored = tensors(&[("a.weight", DType::F16, &[2]), ("a.scales", DType::U8, &[2])]);
        let evidence = evidence(&stored, &[]);
        let summary = Summary::of(&evidence);
        assert!(summary.has_type(&[DType::I8, DType::U8]) && !summary.has_type(&[DType::F32]));
        assert!(summary.may_end_with(&[".scales"]) && !summary.may_end_with(&[".bias"]));
        assert!(summary.has_other_names() && !summary.has_blocks());
        assert!(
            !summary.configs_mention_quantization() && !summary.metadata_mentions_quantization()
        );
    }
}
