//! Models that leave nothing to ask: numbers in floating point, called weights and biases, and not
//! a word about quantization anywhere.
//!
//! Most files are such, and no scheme could bid for any of their tensors: every one needs packed
//! codes, a companion with a name of its own, or a config that speaks of it. They are not asked,
//! which halves the time that opening takes.

use serde_json::Value as Json;

use super::Evidence;
use crate::dtype::DType;

/// Names that companions of packed weights never have.
const ENDINGS: [&str; 2] = ["weight", "bias"];

/// What the key of a config or of metadata has in it that is of interest to any scheme.
const WORDS: [&str; 3] = ["quant", "compress", "qformat"];

/// Whether no scheme needs to be asked.
pub(super) fn is_plain(evidence: &Evidence<'_>) -> bool {
    evidence.answers.are_none()
        && evidence.endings().are_among(&ENDINGS)
        && evidence.tensors().iter().all(|(_, info)| {
            let dtype = info.stored.element();
            matches!(dtype, Some(DType::F64 | DType::F32 | DType::F16 | DType::BF16))
        })
        && !evidence
            .configs()
            .all()
            .iter()
            .any(|config| is_spoken(&config.name) || speaks(&config.json))
        && !evidence.metadata().iter().any(|all| all.iter().any(|(key, _)| is_spoken(key)))
}

fn is_spoken(key: &str) -> bool {
    WORDS.iter().any(|word| key.contains(word))
}

/// Whether a config has such a key, at any depth.
fn speaks(json: &Json) -> bool {
    match json {
        Json::Object(keys) => keys.iter().any(|(key, value)| is_spoken(key) || speaks(value)),
        Json::Array(values) => values.iter().any(speaks),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_at_any_depth() {
        let json = serde_json::json!({"a": [{"b": {"quantization_config": 1}}]});
        assert!(speaks(&json));
        assert!(!speaks(&serde_json::json!({"a": ["quantization"], "b": {"c": "fp8"}})));
    }
}
