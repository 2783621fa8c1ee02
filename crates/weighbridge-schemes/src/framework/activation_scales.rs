//! Scales of a quantized model that apply to activations or the KV cache, not to weights.
//!
//! They are stored with a projection, in a layer, or under a parameter's name, even if the
//! projection itself is not quantized. So they are searched for among unclaimed tensors.

use crate::catalog::{TensorInfo, element_count};
use crate::dtype::DType;
use crate::framework::{Evidence, Method};

/// Last parts of tensor names that describe the quantization of activations.
pub(crate) const ACTIVATIONS: [&str; 12] = [
    "input_scale",
    "input_scale_ub",
    "input_global_scale",
    "input_zero_point",
    "input_amax",
    "activation_scale",
    "output_scale",
    "output_global_scale",
    "output_zero_point",
    "output_amax",
    "scale_input",
    "qscale_act",
];

/// Last parts of tensor names that describe the quantization of the KV cache.
pub(crate) const CACHE: [&str; 11] = [
    "k_scale",
    "v_scale",
    "q_scale",
    "kv_scale",
    "prob_scale",
    "prob_output_scale",
    "k_zero_point",
    "v_zero_point",
    "q_zero_point",
    "k_global_scale",
    "v_global_scale",
];

/// Reason for dropping a scale of activations.
pub(crate) const OF_ACTIVATIONS: &str = "activation scale, not part of the weights";

/// Reason for dropping a scale of the KV cache.
pub(crate) const OF_CACHE: &str = "KV cache scale, not part of the weights";

/// Names of the offsets of an affine cache. In other models they would be biases.
const AFFINE_CACHE: [&str; 2] = ["k_proj.k_bias", "v_proj.v_bias"];

/// What the configs declare as quantized.
#[derive(Clone, Copy)]
pub(crate) struct Says {
    /// The KV cache.
    pub(crate) cache: bool,
    /// The weights, or something unknown.
    pub(crate) weights: bool,
}

impl Says {
    pub(crate) fn of(evidence: &Evidence<'_>) -> Self {
        let settings: Vec<_> = evidence.configs().all_settings().collect();
        let there = |json: &serde_json::Value, key: &str| match json.get(key) {
            None | Some(serde_json::Value::Null) => false,
            Some(serde_json::Value::Object(members)) => !members.is_empty(),
            Some(value) => value.as_str() != Some(""),
        };
        let any = |json: &serde_json::Value, keys: fn(&Method) -> &'static [&'static str]| {
            let mut methods = evidence.schemes().methods.iter();
            methods.any(|(_, method)| keys(method).iter().any(|key| there(json, key)))
        };
        let of_cache = |json: &serde_json::Value| any(json, |method| method.cache_keys);
        let own = evidence.method().and_then(|name| evidence.schemes().method(name));
        let by_key = own.is_some_and(|method| !method.weight_keys.is_empty());
        let of_weights = |json: &serde_json::Value| {
            let empty = json.as_object().is_none_or(serde_json::Map::is_empty);
            let named = any(json, |method| method.weight_keys);
            !empty && (named || !(by_key && of_cache(json)))
        };
        Self {
            cache: settings.iter().any(|json| of_cache(json)),
            weights: settings.iter().any(|json| of_weights(json)),
        }
    }
}

/// Returns why a tensor is dropped, if it is such a scale. `quantized` is whether anything in the
/// model is.
pub(crate) fn reason(
    evidence: &Evidence<'_>,
    info: &TensorInfo,
    says: Says,
    quantized: bool,
) -> Option<&'static str> {
    let float = matches!(info.stored.element(), Some(DType::F32 | DType::BF16 | DType::F16));
    let (module, own) = info.name.rsplit_once('.').unwrap_or(("", &info.name));
    if !float || !(quantized || says.cache) {
        return None;
    }
    // A parameter of any model may have such a name; a single number is not a parameter.
    let single = element_count(&info.shape) == Some(1);
    if CACHE.contains(&own) && (single || says.cache)
        || says.cache && AFFINE_CACHE.iter().any(|end| info.name.ends_with(end))
    {
        return Some(OF_CACHE);
    }
    let there = |name: &str| evidence.find(name).is_some();
    let beside = || there(&format!("{module}.weight")) || module.ends_with("_fake_quantizer");
    let behind = || {
        let parameter = |end: &&str| info.name.strip_suffix(*end)?.strip_suffix('_');
        ACTIVATIONS.iter().filter_map(parameter).any(there)
    };
    (ACTIVATIONS.contains(&own) && beside() || behind()).then_some(OF_ACTIVATIONS)
}
