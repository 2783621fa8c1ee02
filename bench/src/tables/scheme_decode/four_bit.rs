//! Four-bit codes that stand for entries of a table.

use serde_json::json;
use weighbridge::DType::{F8_E4M3, F8_E8M0, F32, I8, U8};

use super::stored::{Fill, Stored, stored};
use crate::decoding::{COLUMNS, ROWS};

/// Experts of the transposed case, and the sides of each: as many elements as in the other lines.
pub const EXPERTS: [u64; 3] = [32, 1376, 1024];

const WEIGHT: &str = "model.layers.0.mlp.up_proj.weight";
const BLOCKS: u64 = ROWS * COLUMNS / 64;

/// bitsandbytes' tables, which files carry but nobody reads.
const NF4: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];
const FP4: [f32; 16] = [
    0.0,
    0.005_208_333_5,
    0.666_666_7,
    1.0,
    0.333_333_34,
    0.5,
    0.166_666_67,
    0.25,
    -0.0,
    -0.005_208_333_5,
    -0.666_666_7,
    -1.0,
    -0.333_333_34,
    -0.5,
    -0.166_666_67,
    -0.25,
];

fn beside(own: &str) -> String {
    format!("{WEIGHT}.{own}")
}

fn bnb_state(kind: &str, mut state: serde_json::Value) -> Vec<Stored> {
    state["quant_type"] = kind.into();
    state["blocksize"] = 64.into();
    state["dtype"] = "bfloat16".into();
    state["shape"] = json!([ROWS, COLUMNS]);
    let text = state.to_string().into_bytes();
    let map = if kind == "nf4" { NF4 } else { FP4 };
    let name = beside(&format!("quant_state.bitsandbytes__{kind}"));
    vec![
        stored(WEIGHT, U8, &[ROWS * COLUMNS / 2, 1], Fill::Codes),
        stored(&beside("quant_map"), F32, &[16], Fill::singles(map)),
        stored(&name, U8, &[text.len() as u64], Fill::Bytes(text)),
    ]
}

/// A scale for every 64 elements.
pub fn bnb(kind: &str) -> Vec<Stored> {
    let mut tensors = bnb_state(kind, json!({}));
    tensors.push(stored(&beside("absmax"), F32, &[BLOCKS], Fill::Scales));
    tensors
}

/// The same with scales that are codes themselves.
pub fn bnb_nested() -> Vec<Stored> {
    let nested = json!({
        "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.140_997
    });
    let mut tensors = bnb_state("nf4", nested);
    let map = (0..256u16).map(|code| (f32::from(code) - 127.0) / 128.0);
    tensors.extend([
        stored(&beside("absmax"), U8, &[BLOCKS], Fill::Codes),
        stored(&beside("nested_absmax"), F32, &[BLOCKS / 256], Fill::Scales),
        stored(&beside("nested_quant_map"), F32, &[256], Fill::singles(map)),
    ]);
    tensors
}

/// ModelOpt's.
pub fn nvfp4() -> Vec<Stored> {
    vec![
        stored(WEIGHT, U8, &[ROWS, COLUMNS / 2], Fill::Codes),
        stored(&format!("{WEIGHT}_scale"), F8_E4M3, &[ROWS, COLUMNS / 16], Fill::Scales),
        stored(&format!("{WEIGHT}_scale_2"), F32, &[], Fill::Scales),
    ]
}

pub fn compressed_nvfp4() -> Vec<Stored> {
    vec![
        stored(&format!("{WEIGHT}_packed"), U8, &[ROWS, COLUMNS / 2], Fill::Codes),
        stored(&format!("{WEIGHT}_scale"), F8_E4M3, &[ROWS, COLUMNS / 16], Fill::Scales),
        stored(&format!("{WEIGHT}_global_scale"), F32, &[1], Fill::singles([437.5])),
    ]
}

pub fn compressed_mxfp4() -> Vec<Stored> {
    vec![
        stored(&format!("{WEIGHT}_packed"), U8, &[ROWS, COLUMNS / 2], Fill::Codes),
        stored(&format!("{WEIGHT}_scale"), U8, &[ROWS, COLUMNS / 32], Fill::Scales),
    ]
}

/// gpt-oss: its result is transposed.
pub fn gpt_oss() -> Vec<Stored> {
    let [experts, outputs, inputs] = EXPERTS;
    let name = |own: &str| format!("model.layers.0.mlp.experts.down_proj_{own}");
    let groups = inputs / 32;
    vec![
        stored(&name("blocks"), U8, &[experts, outputs, groups, 16], Fill::Codes),
        stored(&name("scales"), U8, &[experts, outputs, groups], Fill::Scales),
    ]
}

/// DeepSeek-V4's: nibbles in signed bytes.
pub fn deepseek() -> Vec<Stored> {
    let name = |own: &str| format!("layers.0.ffn.experts.0.w1.{own}");
    vec![
        stored(&name("weight"), I8, &[ROWS, COLUMNS / 2], Fill::Codes),
        stored(&name("scale"), F8_E8M0, &[ROWS, COLUMNS / 32], Fill::Scales),
    ]
}
