//! The names of a weight's companions.

use crate::catalog::TensorInfo;
use crate::schemes::{Evidence, TensorId};

/// A stored tensor.
pub(super) type Found<'a> = (TensorId, &'a TensorInfo);

/// The module of a weight: `a.b` of `a.b.weight`. A parameter by another name stands for itself.
pub(super) fn module_of(name: &str) -> &str {
    name.strip_suffix(".weight").unwrap_or(name)
}

/// Scales that lie beside a weight, with the ending of their name.
pub(super) fn scales_of<'a>(evidence: &Evidence<'a>, name: &str) -> Vec<(&'static str, Found<'a>)> {
    const AFTER_ANY: [&str; 2] = ["_scale_inv", "_scale"];
    const AFTER_MODULE: [&str; 3] = [".scale_weight", ".qscale_weight", ".scale"];
    // Parameters of ModelOpt's fused experts, and of ours that are not called `weight`.
    const AFTER_PARAMETER: [&str; 2] = ["_weight_scale", "_weight_scale_inv"];
    let module = module_of(name);
    let find = |stem: &str, ending: &'static str| {
        evidence.find(&format!("{stem}{ending}")).map(|found| (ending, found))
    };
    let any = AFTER_ANY.iter().filter_map(|&ending| find(name, ending));
    let others: &[&'static str] = if module == name { &AFTER_PARAMETER } else { &AFTER_MODULE };
    any.chain(others.iter().filter_map(|&ending| find(module, ending))).collect()
}

/// The weight that a tensor of that name would be the scale of, where no other scheme has such
/// names.
pub(super) fn scaled_by(name: &str) -> Option<String> {
    if let Some(weight) = name.strip_suffix("_scale_inv") {
        return Some(weight.to_owned());
    }
    let module =
        name.strip_suffix(".scale_weight").or_else(|| name.strip_suffix(".qscale_weight"))?;
    Some(format!("{module}.weight"))
}

/// Tensors beside a weight that serve activations or caches: name and why they are left out.
pub(super) fn unused_beside(name: &str) -> Vec<(String, &'static str)> {
    const INPUTS: [&str; 6] = [
        "input_scale",
        "activation_scale",
        "scale_input",
        "qscale_act",
        "input_scale_ub",
        "output_scale",
    ];
    const CACHE: [&str; 5] = ["k_scale", "v_scale", "kv_scale", "q_scale", "prob_scale"];
    const OF_INPUTS: &str = "scale of activations, which are no part of the weights";
    const OF_CACHE: &str = "scale of the attention's cache, which is no part of the weights";
    let module = module_of(name);
    let join = if module == name { "_" } else { "." };
    let inputs = INPUTS.iter().map(|input| (format!("{module}{join}{input}"), OF_INPUTS));
    let cache = CACHE.iter().map(|cache| (format!("{module}.{cache}"), OF_CACHE));
    let mut all: Vec<_> = inputs.chain(cache).collect();
    // A layer's own cache scales go with the projection that fills the cache.
    let layer = ["k_proj", "qkv_proj", "kv_b_proj"].iter().find_map(|p| module.strip_suffix(p));
    if let Some(layer) = layer.and_then(|layer| layer.strip_suffix('.')) {
        for cache in CACHE {
            all.push((format!("{layer}.{cache}"), OF_CACHE));
            all.push((format!("{layer}.attn.{cache}"), OF_CACHE));
        }
    }
    all
}
