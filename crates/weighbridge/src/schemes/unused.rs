//! Shared plumbing: tensors beside a quantized weight that serve activations or caches.

use super::{Bids, Evidence};

/// Leaves out what lies beside a weight and is no part of it. A scheme asks for its own weights
/// only, so that no tensor is left out twice.
pub(super) fn drop_beside(evidence: &Evidence<'_>, weight: &str, bids: &mut Bids) {
    const INPUTS: [&str; 5] =
        ["input_scale", "activation_scale", "output_scale", "input_amax", "input_global_scale"];
    const CACHE: [&str; 3] = ["k_scale", "v_scale", "kv_scale"];
    const OF_INPUTS: &str = "a scale of activations, which are no part of the weights";
    const OF_CACHE: &str = "a scale of the attention's cache, which is no part of the weights";
    let module = weight.strip_suffix(".weight");
    let join = if module.is_some() { "." } else { "_" };
    let module = module.unwrap_or(weight);
    let mut leave_out = |name: String, reason: &str| {
        if let Some((id, _)) = evidence.find(&name) {
            bids.dropped.push((id, reason.to_owned()));
        }
    };
    INPUTS.iter().for_each(|input| leave_out(format!("{module}{join}{input}"), OF_INPUTS));
    CACHE.iter().for_each(|cache| leave_out(format!("{module}.{cache}"), OF_CACHE));
    // A layer's own cache scales go with the projection that fills the cache.
    let layer = ["k_proj", "qkv_proj"].iter().find_map(|p| module.strip_suffix(p));
    if let Some(layer) = layer.and_then(|layer| layer.strip_suffix('.')) {
        CACHE.iter().for_each(|cache| leave_out(format!("{layer}.{cache}"), OF_CACHE));
    }
}
