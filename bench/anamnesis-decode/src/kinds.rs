//! The function for each kind of weight, as our own recognition names it.
#![allow(clippy::cast_possible_truncation)]

use anamnesis::{AnamnesisError, Dtype, Result};
use safetensors::SafeTensors;

/// Decodes the one weight of a file to bf16. GPTQ and AWQ come out as `[in, out]`.
pub fn decode(kind: &str, stored: &SafeTensors<'_>) -> Result<Vec<u8>> {
    let part = |ending: &str| part(stored, ending);
    let weight = || part(".weight").0;
    let side = |index: usize| part(".weight").1[index];
    match kind {
        "fp8/e4m3-tensor" => {
            anamnesis::dequantize_per_tensor_fp8_to_bf16(weight(), single(part("_scale").0))
        }
        "fp8/e4m3-channel" => anamnesis::dequantize_per_channel_fp8_to_bf16(
            weight(),
            part("_scale").0,
            side(0),
            side(1),
            Dtype::F32,
        ),
        "fp8/e4m3-b128x128" => anamnesis::dequantize_fp8_to_bf16(
            weight(),
            part("_scale_inv").0,
            side(0),
            side(1),
            Dtype::F32,
        ),
        "bnb/int8" => {
            anamnesis::dequantize_bnb_int8_to_bf16(weight(), part(".SCB").0, side(0), side(1))
        }
        "bnb/nf4-g64" | "bnb/fp4-g64" => anamnesis::dequantize_bnb4_to_bf16(
            weight(),
            part(".absmax").0,
            part(".quant_map").0,
            weight().len() * 2,
            64,
        ),
        "bnb/nf4-g64-nested" => anamnesis::dequantize_bnb4_double_quant_to_bf16(
            weight(),
            part(".absmax").0,
            part(".quant_map").0,
            part(".nested_absmax").0,
            part(".nested_quant_map").0,
            nested_offset(part("__nf4").0),
            weight().len() * 2,
            64,
            256,
        ),
        "nvfp4/modelopt" => anamnesis::dequantize_nvfp4_to_bf16(
            weight(),
            part("_scale").0,
            single(part("_scale_2").0),
            side(0),
            side(1) * 2,
        ),
        "gptq/4bit-g128" => gptq(stored, 4),
        "gptq/8bit-g128" => gptq(stored, 8),
        "awq/gemm-4bit-g128" => awq(stored),
        _ => Err(AnamnesisError::Unsupported {
            format: kind.to_owned(),
            detail: "it has no function for this".to_owned(),
        }),
    }
}

fn gptq(stored: &SafeTensors<'_>, bits: u8) -> Result<Vec<u8>> {
    let part = |ending: &str| part(stored, ending);
    let ((scales, sides), (groups, inputs)) = (part(".scales"), part(".g_idx"));
    anamnesis::dequantize_gptq_to_bf16(
        part(".qweight").0,
        scales,
        part(".qzeros").0,
        Some(groups),
        inputs[0],
        sides[1],
        128,
        bits,
        Dtype::F16,
    )
}

fn awq(stored: &SafeTensors<'_>) -> Result<Vec<u8>> {
    let part = |ending: &str| part(stored, ending);
    let ((qweight, packed), (scales, sides)) = (part(".qweight"), part(".scales"));
    anamnesis::dequantize_awq_to_bf16(
        qweight,
        scales,
        part(".qzeros").0,
        packed[0],
        sides[1],
        128,
        4,
        Dtype::F16,
    )
}

/// The bytes and the shape of the tensor whose name ends so.
fn part<'a>(stored: &SafeTensors<'a>, ending: &str) -> (&'a [u8], Vec<usize>) {
    let found = stored.iter().find(|(name, _)| name.ends_with(ending));
    let (_, tensor) = found.unwrap_or_else(|| panic!("no tensor is called ..{ending}"));
    (tensor.data(), tensor.shape().to_vec())
}

fn single(bytes: &[u8]) -> f32 {
    f32::from_le_bytes(*bytes.first_chunk().expect("a single float"))
}

fn nested_offset(state: &[u8]) -> f32 {
    let state: serde_json::Value = serde_json::from_slice(state).expect("the state is JSON");
    // As anamnesis itself narrows it.
    state["nested_offset"].as_f64().expect("it has an offset") as f32
}
