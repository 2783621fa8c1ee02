//! The JSON documents next to the weights, such as `config.json`.

use serde_json::Value as Json;

use crate::dtype::DType;

mod edit;
mod parse;

pub use edit::{Change, Changed, ChangedKey, change};
pub use parse::{parse, parse_as};

/// The config of a Hugging Face transformers model.
pub const HUGGING_FACE: &str = "config.json";

/// The config of a model in Mistral's own files.
pub const MISTRAL: &str = "params.json";

/// The file that marks a folder as a pipeline of models.
pub const PIPELINE: &str = "model_index.json";

/// The config of an adapter.
pub const ADAPTER: &str = "adapter_config.json";

/// A JSON document next to the weights.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its file name.
    pub name: String,
    /// Its contents.
    pub json: Json,
}

/// Returns the document with this name.
pub fn find<'a>(configs: &'a [Config], name: &str) -> Option<&'a Json> {
    configs.iter().find(|config| config.name == name).map(|config| &config.json)
}

/// Keys under which a config holds that of its language model, in the order they are looked at.
const LANGUAGE: [&str; 4] = ["text_config", "llm_config", "language_config", "thinker_config"];

/// Keys that name the type of a model's weights, in the order they are looked at.
const TYPE_KEYS: [&str; 2] = ["dtype", "torch_dtype"];

/// What stands in the keys of settings that are no model's config.
const SETTINGS: [&str; 2] = ["quant", "compress"];

/// Whether what a config holds under a key is the config of a model inside the model.
fn is_inner_model(key: &str, has_type: impl FnOnce() -> bool) -> bool {
    !SETTINGS.iter().any(|word| key.contains(word)) && (key.ends_with("_config") || has_type())
}

/// A model's config and those of all models inside it, the outermost first, and on each level that
/// of the language model before others.
pub fn models(config: &Json) -> Vec<&Json> {
    let (mut all, mut next) = (vec![config], 0);
    while let Some(model) = all.get(next).copied() {
        next += 1;
        let members = model.as_object().into_iter().flatten();
        let mut inner: Vec<_> = members
            .filter(|(key, value)| {
                let has_type = || value.get("model_type").is_some_and(Json::is_string);
                value.is_object() && is_inner_model(key, has_type)
            })
            .collect();
        let rank = |key: &str| LANGUAGE.iter().position(|known| *known == key);
        inner.sort_by_key(|(key, _)| rank(key).unwrap_or(LANGUAGE.len()));
        all.extend(inner.into_iter().map(|(_, value)| value));
    }
    all
}

/// A model's config and those of the language models inside it, the outermost first.
fn language_models(config: &Json) -> Vec<&Json> {
    let (mut all, mut next) = (vec![config], 0);
    while let Some(model) = all.get(next).copied() {
        next += 1;
        all.extend(LANGUAGE.iter().filter_map(|key| model.get(*key)));
    }
    all
}

/// Returns the dtype that a config states for the model, and the name of that config.
pub fn named_dtype(configs: &[Config]) -> Option<(&'static str, DType)> {
    let under = |json: &Json| {
        let named = |key: &&str| json.get(*key)?.as_str().map(str::to_owned);
        TYPE_KEYS.iter().find_map(named)
    };
    [HUGGING_FACE, MISTRAL]
        .into_iter()
        .find_map(|file| {
            let name = language_models(find(configs, file)?).into_iter().find_map(under)?;
            Some((file, dtype_of(&name)))
        })
        .and_then(|(file, dtype)| Some((file, dtype?)))
}

/// Returns the dtype that a config states for the model.
pub fn model_dtype(configs: &[Config]) -> Option<DType> {
    named_dtype(configs).map(|(_, dtype)| dtype)
}

fn dtype_of(name: &str) -> Option<DType> {
    match name.trim_start_matches("torch.") {
        "bfloat16" => Some(DType::BF16),
        "float16" | "half" => Some(DType::F16),
        "float32" | "float" => Some(DType::F32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_type_of_a_model_is_what_any_key_says() {
        let dtype = |file: &str, json: Json| model_dtype(&[Config { name: file.into(), json }]);
        let bf16 = Some(DType::BF16);
        assert_eq!(dtype("config.json", json!({ "dtype": null, "torch_dtype": "bfloat16" })), bf16);
        assert_eq!(
            dtype("config.json", json!({ "dtype": null, "text_config": { "dtype": "bfloat16" } })),
            bf16
        );
        assert_eq!(dtype("params.json", json!({ "dtype": "bfloat16" })), bf16);
        assert_eq!(dtype("config.json", json!({ "dtype": 3 })), None);
        let inner = json!({ "thinker_config": { "text_config": { "dtype": "torch.bfloat16" } } });
        assert_eq!(dtype("config.json", inner), bf16);
        let other = json!({ "vision_config": { "dtype": "bfloat16" } });
        assert_eq!(dtype("config.json", other), None);
    }

    #[test]
    fn models_inside_a_model_come_after_it_and_language_first() {
        let config = json!({
            "id": 0, "vision_config": { "id": 3 }, "rope_scaling": { "id": 9 },
            "llm_config": { "id": 2, "text_config": { "id": 5 } },
            "quantization_config": { "text_config": { "id": 9 } },
            "decoder": { "id": 4, "model_type": "llama" }, "text_config": { "id": 1 },
        });
        let ids: Vec<u64> = models(&config).iter().map(|m| m["id"].as_u64().unwrap()).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4, 5]);
    }
}
