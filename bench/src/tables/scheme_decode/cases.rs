//! The lines of the table: how each is stored, and what it must be recognised as.

use serde_json::{Value, json};
use weighbridge::DType::{BF16, F8_E4M3, F8_E5M2, F8_E8M0, F32, I8, U8};

use super::four_bit;
use super::packed;
use super::stored::{Fill, Stored, stored};
use super::targets::{COLUMNS_CLASS, Class, ROWS_CLASS};
use crate::decoding::{COLUMNS, ROWS};

/// One line.
pub struct Case {
    /// What it is called.
    pub name: &'static str,
    /// What it must be recognised as, as `scheme/variant`.
    pub kind: &'static str,
    /// How close to the limit it must come.
    pub class: &'static Class,
    /// The JSON files beside it: names and contents.
    pub config: fn() -> Vec<(&'static str, Value)>,
    /// What it is made of.
    pub tensors: fn() -> Vec<Stored>,
}

/// All of them.
pub const CASES: &[Case] = &[
    rows("fp8-tensor", "fp8/e4m3-tensor", || fp8(&Value::Null), || eight(F8_E4M3, F32, &[])),
    rows("fp8-channel", "fp8/e4m3-channel", || fp8(&Value::Null), || eight(F8_E4M3, F32, &[ROWS])),
    rows("fp8-block", "fp8/e4m3-b128x128", || fp8(&json!([128, 128])), || blocks(F32)),
    rows(
        "fp8-block-e8m0",
        "fp8/e4m3-b128x128-e8m0",
        || fp8(&json!([128, 128])),
        || blocks(F8_E8M0),
    ),
    rows("mxfp8", "fp8/e4m3-g32-e8m0", mxfp8, || eight(F8_E4M3, U8, &[ROWS, COLUMNS / 32])),
    rows("fp8-e5m2", "fp8/e5m2-tensor", Vec::new, comfy),
    rows("bnb-int8", "bnb/int8", || bnb("load_in_8bit"), bnb_int8),
    rows("bnb-nf4", "bnb/nf4-g64", || bnb("load_in_4bit"), || four_bit::bnb("nf4")),
    rows("bnb-nf4-nested", "bnb/nf4-g64-nested", || bnb("load_in_4bit"), four_bit::bnb_nested),
    rows("bnb-fp4", "bnb/fp4-g64", || bnb("load_in_4bit"), || four_bit::bnb("fp4")),
    rows("nvfp4-modelopt", "nvfp4/modelopt", modelopt_nvfp4, four_bit::nvfp4),
    rows("nvfp4-compressed", "compressed/nvfp4", packed::nvfp4_config, four_bit::compressed_nvfp4),
    rows("mxfp4-gpt-oss", "mx/mxfp4-transposed", gpt_oss, four_bit::gpt_oss),
    rows("mxfp4-compressed", "compressed/mxfp4", packed::mxfp4_config, four_bit::compressed_mxfp4),
    rows("mxfp4-deepseek", "mx/mxfp4", deepseek, four_bit::deepseek),
    rows("mlx-4bit", "mlx/4bit-g64", || mlx(4), || packed::mlx(4)),
    rows("mlx-8bit", "mlx/8bit-g64", || mlx(8), || packed::mlx(8)),
    rows("compressed-int4", "compressed/int4-g128", || packed::int4(true), || packed::words(false)),
    rows(
        "compressed-int4-asym",
        "compressed/int4-g128-asym",
        || packed::int4(false),
        || packed::words(true),
    ),
    rows("compressed-int8", "compressed/int8-bytes-channel", packed::int8, compressed_int8),
    columns("gptq-4bit", "gptq/4bit-g128", || packed::gptq(4, false), || packed::inputs(4, false)),
    columns("gptq-8bit", "gptq/8bit-g128", || packed::gptq(8, false), || packed::inputs(8, false)),
    columns(
        "gptq-desc-act",
        "gptq/4bit-g128",
        || packed::gptq(4, true),
        || packed::inputs(4, true),
    ),
    columns("awq", "awq/gemm-4bit-g128", packed::awq_config, packed::awq),
];

type Config = fn() -> Vec<(&'static str, Value)>;
type Tensors = fn() -> Vec<Stored>;

const fn rows(name: &'static str, kind: &'static str, config: Config, tensors: Tensors) -> Case {
    Case { name, kind, class: &ROWS_CLASS, config, tensors }
}

const fn columns(name: &'static str, kind: &'static str, config: Config, tensors: Tensors) -> Case {
    Case { name, kind, class: &COLUMNS_CLASS, config, tensors }
}

/// A config that names its quantization.
pub fn config(dtype: &str, quantization: &Value) -> Vec<(&'static str, Value)> {
    let text = json!({
        "model_type": "llama", "torch_dtype": dtype, "quantization_config": quantization
    });
    vec![("config.json", text)]
}

fn fp8(block: &Value) -> Vec<(&'static str, Value)> {
    let scheme = if block.is_null() { "static" } else { "dynamic" };
    let fp8 = json!({
        "quant_method": "fp8", "activation_scheme": scheme, "weight_block_size": block
    });
    config("bfloat16", &fp8)
}

fn eight(codes: weighbridge::DType, scales: weighbridge::DType, shape: &[u64]) -> Vec<Stored> {
    vec![
        stored("model.layers.0.mlp.up_proj.weight", codes, &[ROWS, COLUMNS], Fill::Floats),
        stored("model.layers.0.mlp.up_proj.weight_scale", scales, shape, Fill::Scales),
    ]
}

fn blocks(scales: weighbridge::DType) -> Vec<Stored> {
    let shape = [ROWS / 128, COLUMNS / 128];
    vec![
        stored("model.layers.0.mlp.up_proj.weight", F8_E4M3, &[ROWS, COLUMNS], Fill::Floats),
        stored("model.layers.0.mlp.up_proj.weight_scale_inv", scales, &shape, Fill::Scales),
    ]
}

fn modelopt(quantization: &Value) -> Vec<(&'static str, Value)> {
    let producer = json!({ "name": "modelopt", "version": "0.47.0" });
    vec![
        ("config.json", json!({ "model_type": "llama", "torch_dtype": "bfloat16" })),
        ("hf_quant_config.json", json!({ "producer": producer, "quantization": quantization })),
    ]
}

fn mxfp8() -> Vec<(&'static str, Value)> {
    modelopt(&json!({ "quant_algo": "MXFP8", "kv_cache_quant_algo": null, "group_size": 32 }))
}

fn modelopt_nvfp4() -> Vec<(&'static str, Value)> {
    modelopt(&json!({ "quant_algo": "NVFP4", "kv_cache_quant_algo": null, "group_size": 16 }))
}

/// ComfyUI's older files: no config, but a marker.
fn comfy() -> Vec<Stored> {
    let name = |own: &str| format!("model.diffusion_model.double_blocks.0.img_attn.proj.{own}");
    vec![
        stored(&name("weight"), F8_E5M2, &[ROWS, COLUMNS], Fill::Floats),
        stored(&name("scale_weight"), F32, &[], Fill::Scales),
        stored("model.diffusion_model.scaled_fp8", F8_E5M2, &[0], Fill::Codes),
    ]
}

fn bnb(load: &str) -> Vec<(&'static str, Value)> {
    config("bfloat16", &json!({ "quant_method": "bitsandbytes", load: true }))
}

fn bnb_int8() -> Vec<Stored> {
    vec![
        stored("model.layers.0.mlp.up_proj.weight", I8, &[ROWS, COLUMNS], Fill::Codes),
        stored("model.layers.0.mlp.up_proj.SCB", F32, &[ROWS], Fill::Scales),
        stored("model.layers.0.mlp.up_proj.weight_format", U8, &[], Fill::Bytes(vec![0])),
    ]
}

fn gpt_oss() -> Vec<(&'static str, Value)> {
    config("bfloat16", &json!({ "quant_method": "mxfp4" }))
}

fn deepseek() -> Vec<(&'static str, Value)> {
    let fp8 = json!({
        "quant_method": "fp8", "scale_fmt": "ue8m0", "weight_block_size": [128, 128]
    });
    let text = json!({
        "model_type": "deepseek_v4", "dtype": "bfloat16", "expert_dtype": "fp4",
        "quantization_config": fp8
    });
    vec![("config.json", text)]
}

fn mlx(bits: u64) -> Vec<(&'static str, Value)> {
    let quantization = json!({ "group_size": 64, "bits": bits, "mode": "affine" });
    vec![("config.json", json!({ "model_type": "llama", "quantization": quantization }))]
}

fn compressed_int8() -> Vec<Stored> {
    vec![
        stored("model.layers.0.mlp.up_proj.weight", I8, &[ROWS, COLUMNS], Fill::Codes),
        stored("model.layers.0.mlp.up_proj.weight_scale", BF16, &[ROWS, 1], Fill::Scales),
    ]
}
