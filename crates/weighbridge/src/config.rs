//! The JSON documents that lie beside the weights, such as `config.json`.

use serde_json::Value as Json;

use crate::dtype::DType;

/// What describes a model of Hugging Face's transformers.
pub(crate) const HUGGING_FACE: &str = "config.json";

/// What describes a model in Mistral's own files.
pub(crate) const MISTRAL: &str = "params.json";

/// What describes an adapter.
pub(crate) const ADAPTER: &str = "adapter_config.json";

/// One of them.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its file name.
    pub name: String,
    /// Its contents.
    pub json: Json,
}

/// The document of that name.
pub(crate) fn find<'a>(configs: &'a [Config], name: &str) -> Option<&'a Json> {
    configs.iter().find(|config| config.name == name).map(|config| &config.json)
}

/// The type that configs say a model was made in, where they say so.
pub(crate) fn model_dtype(configs: &[Config]) -> Option<DType> {
    let under = |json: &Json| {
        let named = |key| json.get(key)?.as_str().map(str::to_owned);
        named("dtype").or_else(|| named("torch_dtype"))
    };
    let of = |file| {
        let config = find(configs, file)?;
        under(config).or_else(|| under(config.get("text_config")?))
    };
    match of(HUGGING_FACE).or_else(|| of(MISTRAL))?.trim_start_matches("torch.") {
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
    }
}
