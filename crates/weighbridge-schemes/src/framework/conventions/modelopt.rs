//! Files that NVIDIA's ModelOpt writes next to weights, which may belong to several schemes.
//!
//! ```text
//! hf_quant_config.json   {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": .., ..}}
//! config.json            quantization_config: the same settings, in newer versions
//! ```

use serde_json::Value as Json;

use crate::framework::conventions::comfy;
use crate::framework::{ConfigFile, Configs, Holds, Method, Sign, Traces};

/// ModelOpt's quantization method.
pub(crate) const METHOD: Method = Method {
    weight_keys: &["quant_algo", "config_groups"],
    cache_keys: &["kv_cache_quant_algo", "kv_cache_scheme"],
    ..Method::named("modelopt")
};

/// ModelOpt's own config file.
pub(crate) const FILE: ConfigFile =
    ConfigFile { name: "hf_quant_config.json", holds: Holds::MoreSettings("quantization") };

/// Traces of the schemes that ModelOpt writes, in its own files and in those of other writers:
/// Mistral's config and ComfyUI's metadata.
pub(crate) const TRACES: Traces = Traces {
    config_keys: &["quantization_config", "quantization"],
    files: &[FILE.name],
    metadata: &[comfy::METADATA, "quantization_config"],
};

/// Returns the method if ModelOpt's file exists, which implies it.
pub(crate) fn implied_method(configs: &Configs<'_>) -> Option<(Sign, &'static str)> {
    configs.file(FILE.name).map(|_| (Sign::File, METHOD.name))
}

/// Returns the settings in ModelOpt's own file.
pub(crate) fn settings<'a>(configs: &Configs<'a>) -> Option<&'a Json> {
    configs.file(FILE.name)?.get("quantization")
}

/// Whether an algorithm that leaves the activations of four-bit weights unquantized is named, for
/// the model or for a layer.
pub(crate) fn keeps_activations(configs: &Configs<'_>) -> bool {
    fn names(json: &Json) -> bool {
        match json {
            Json::Object(members) => members.iter().any(|(key, value)| {
                let is_it = |name: &str| key == "quant_algo" && name.starts_with("W4A16");
                value.as_str().map_or_else(|| names(value), is_it)
            }),
            Json::Array(items) => items.iter().any(names),
            _ => false,
        }
    }
    configs.all_settings().any(names)
}

/// Whether a method name is ModelOpt's, perhaps with a suffix: `modelopt_fp4`.
pub(crate) fn is_method(name: &str) -> bool {
    name.starts_with(METHOD.name)
}

/// Whether some settings name ModelOpt.
pub(crate) fn is_named_in(settings: &Json) -> bool {
    let is_it = |json: &Json| json.as_str().is_some_and(|name| name.to_lowercase() == METHOD.name);
    let producer = || settings.get("producer")?.get("name");
    settings.get("quant_method").is_some_and(is_it) || producer().is_some_and(is_it)
}

/// Returns the name of an algorithm, in upper case: ModelOpt writes `FP8`, but `fp8_pb_wo`.
pub(crate) fn algorithm(settings: &Json) -> Option<String> {
    settings.get("quant_algo")?.as_str().map(str::to_uppercase)
}
