//! The section of the model's config, as llm-compressor writes it: its keys in their order.

use serde_json::{Value as Json, json};

use super::super::config::METHOD;
use super::{Codes, Preset};
use crate::dtype::DType;

/// The version of compressed-tensors whose section this is.
const VERSION: &str = "0.20.0";

/// The whole section. `plain` are the linear layers that are not quantized.
pub(super) fn section(preset: &Preset, group: Option<u64>, plain: &[String]) -> Json {
    let groups = json!({
        "format": preset.format,
        "input_activations": inputs(preset),
        "output_activations": null,
        "targets": ["Linear"],
        "weights": weights(preset, group),
    });
    json!({
        "config_groups": { "group_0": groups },
        "format": preset.format,
        "global_compression_ratio": null,
        "ignore": plain,
        "kv_cache_scheme": null,
        "moe_sparsity_config": null,
        "quant_method": METHOD.name,
        "quantization_status": "compressed",
        "sparsity_config": {},
        "transform_config": {},
        "version": VERSION,
    })
}

/// Inputs are quantized token by token while the model runs.
fn inputs(preset: &Preset) -> Json {
    let token = json!({
        "dynamic": true,
        "group_size": null,
        "num_bits": preset.bits,
        "strategy": "token",
        "symmetric": true,
        "type": preset.numbers,
    });
    if preset.quantizes_inputs { token } else { Json::Null }
}

fn weights(preset: &Preset, group: Option<u64>) -> Json {
    let codes = preset.codes;
    let strategy = match (codes, group) {
        (Codes::Nvfp4, _) => "tensor_group",
        (_, Some(_)) => "group",
        (_, None) => "channel",
    };
    let scales = preset.scales.map(|dtype| match dtype {
        DType::F8_E4M3 => "torch.float8_e4m3fn",
        _ => "torch.uint8",
    });
    let mut all = json!({
        "dynamic": false,
        "group_size": group,
        "num_bits": preset.bits,
        "observer": "memoryless_minmax",
        "scale_dtype": scales,
        "strategy": strategy,
        "symmetric": codes != Codes::Words4Zero,
        "type": preset.numbers,
    });
    if let (None, Some(members)) = (scales, all.as_object_mut()) {
        members.shift_remove("scale_dtype");
    }
    all
}
