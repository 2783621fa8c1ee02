//! Integers packed into words, and the configs that say how.

use serde_json::{Value, json};
use weighbridge::DType::{BF16, F16, I32, I64, U32};

use super::cases::config;
use super::stored::{Fill, Stored, stored};
use crate::decoding::{COLUMNS, ROWS};
use crate::random_blocks::Random;

const GROUP: u64 = 128;
const GROUPS: u64 = COLUMNS / GROUP;

fn name(own: &str) -> String {
    format!("model.layers.0.mlp.up_proj.{own}")
}

/// MLX: a scale and a bias for every 64.
pub fn mlx(bits: u64) -> Vec<Stored> {
    let groups = [ROWS, COLUMNS / 64];
    vec![
        stored(&name("weight"), U32, &[ROWS, COLUMNS * bits / 32], Fill::Codes),
        stored(&name("scales"), BF16, &groups, Fill::Scales),
        stored(&name("biases"), BF16, &groups, Fill::Biases),
    ]
}

/// compressed-tensors: four bits in groups, with or without zero points, which are packed too.
pub fn words(zero_points: bool) -> Vec<Stored> {
    let mut tensors = vec![
        stored(&name("weight_packed"), I32, &[ROWS, COLUMNS / 8], Fill::Codes),
        stored(&name("weight_scale"), BF16, &[ROWS, GROUPS], Fill::Scales),
        stored(&name("weight_shape"), I64, &[2], Fill::long_words([ROWS, COLUMNS])),
    ];
    if zero_points {
        tensors.push(stored(&name("weight_zero_point"), I32, &[ROWS / 8, GROUPS], Fill::Codes));
    }
    tensors
}

fn compressed(format: &str, weights: &Value) -> Vec<(&'static str, Value)> {
    let group = json!({ "targets": ["Linear"], "format": format, "weights": weights });
    let quantization = json!({
        "quant_method": "compressed-tensors", "format": format, "version": "0.19.0",
        "quantization_status": "compressed", "config_groups": { "group_0": group }
    });
    config("bfloat16", &quantization)
}

fn integers(
    format: &str,
    bits: u64,
    group: Option<u64>,
    symmetric: bool,
) -> Vec<(&'static str, Value)> {
    let strategy = if group.is_some() { "group" } else { "channel" };
    let weights = json!({
        "num_bits": bits, "type": "int", "symmetric": symmetric, "strategy": strategy,
        "group_size": group, "dynamic": false, "actorder": null
    });
    compressed(format, &weights)
}

fn floats(format: &str, group: u64, strategy: &str) -> Vec<(&'static str, Value)> {
    let weights = json!({
        "num_bits": 4, "type": "float", "symmetric": true, "strategy": strategy,
        "group_size": group, "dynamic": false, "actorder": null
    });
    compressed(format, &weights)
}

pub fn int4(symmetric: bool) -> Vec<(&'static str, Value)> {
    integers("pack-quantized", 4, Some(GROUP), symmetric)
}

pub fn int8() -> Vec<(&'static str, Value)> {
    integers("int-quantized", 8, None, true)
}

pub fn nvfp4_config() -> Vec<(&'static str, Value)> {
    floats("nvfp4-pack-quantized", 16, "tensor_group")
}

pub fn mxfp4_config() -> Vec<(&'static str, Value)> {
    floats("mxfp4-pack-quantized", 32, "group")
}

pub fn gptq(bits: u64, desc_act: bool) -> Vec<(&'static str, Value)> {
    let quantization = json!({
        "quant_method": "gptq", "checkpoint_format": "gptq", "bits": bits, "group_size": GROUP,
        "sym": true, "desc_act": desc_act
    });
    config("float16", &quantization)
}

/// GPTQ: packed along the inputs, symmetric, with the group of each input.
pub fn inputs(bits: u64, shuffled: bool) -> Vec<Stored> {
    let zero_words = (GROUPS * ROWS * bits / 32) as usize;
    let middle = if bits == 4 { 0x7777_7777 } else { 0x7f7f_7f7f };
    let mut groups: Vec<u32> = (0..COLUMNS).map(|input| (input / GROUP) as u32).collect();
    if shuffled {
        let mut random = Random(COLUMNS);
        for last in (1..groups.len()).rev() {
            groups.swap(last, (random.next() % (last as u64 + 1)) as usize);
        }
    }
    vec![
        stored(&name("qweight"), I32, &[COLUMNS * bits / 32, ROWS], Fill::Codes),
        stored(
            &name("qzeros"),
            I32,
            &[GROUPS, ROWS * bits / 32],
            Fill::words(std::iter::repeat_n(middle, zero_words)),
        ),
        stored(&name("scales"), F16, &[GROUPS, ROWS], Fill::Scales),
        stored(&name("g_idx"), I32, &[COLUMNS], Fill::words(groups)),
    ]
}

pub fn awq_config() -> Vec<(&'static str, Value)> {
    let quantization = json!({
        "quant_method": "awq", "version": "gemm", "bits": 4, "group_size": GROUP, "zero_point": true
    });
    config("float16", &quantization)
}

/// AWQ: packed along the outputs.
pub fn awq() -> Vec<Stored> {
    vec![
        stored(&name("qweight"), I32, &[COLUMNS, ROWS / 8], Fill::Codes),
        stored(&name("qzeros"), I32, &[GROUPS, ROWS / 8], Fill::Codes),
        stored(&name("scales"), F16, &[GROUPS, ROWS], Fill::Scales),
    ]
}
