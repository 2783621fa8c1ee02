//! Traps of eight-bit floats.

use super::codes::{e4m3, e5m2, e8m0, in_bf16};
use super::raw::Raw;
use super::{L, Trap};

/// Codes of 8 bits with a grid of scales, `cells` in each of its rows.
fn blocks(raw: &Raw, name: &str, scale: &str, block: [usize; 2], cells: usize) -> Vec<f32> {
    let (codes, scales) = (raw.floats(name), raw.floats(scale));
    let columns = raw.shape(name)[1];
    let cell = |at: usize| at / columns / block[0] * cells + at % columns / block[1];
    codes.iter().enumerate().map(|(at, code)| code * scales[cell(at)]).collect()
}

pub const FLOATS: &[Trap] = &[
    ("E5M2 read as E4M3", "fp8/quark-e5m2", "self_attn.k_proj.weight", |raw, fall| {
        let name = format!("{L}self_attn.k_proj.weight");
        let scales = raw.floats(&format!("{name}_scale"));
        let code = if fall { e4m3 } else { e5m2 };
        let columns = raw.shape(&name)[1];
        let codes = raw.bytes(&name).iter().enumerate();
        codes.map(|(at, &byte)| code(byte) * scales[at / columns]).collect()
    }),
    ("INT8 read as FP8", "fp8/int8-block", "mlp.up_proj.weight", |raw, fall| {
        let name = format!("{L}mlp.up_proj.weight");
        let scales = raw.floats(&format!("{name}_scale_inv"));
        let code = |byte: u8| if fall { e4m3(byte) } else { f32::from(byte.cast_signed()) };
        let codes = raw.bytes(&name).iter().enumerate();
        codes.map(|(at, &byte)| code(byte) * scales[at / 24 / 8 * 3 + at % 24 / 8]).collect()
    }),
    (
        "blocks read with sides twice as long",
        "fp8/hf-block",
        "self_attn.q_proj.weight",
        |raw, fall| {
            let name = format!("{L}self_attn.q_proj.weight");
            let block = if fall { [16, 32] } else { [8, 16] };
            blocks(raw, &name, &format!("{name}_scale_inv"), block, 1)
        },
    ),
    ("weight_scale_inv divides", "fp8/hf-block", "self_attn.k_proj.weight", |raw, fall| {
        let name = format!("{L}self_attn.k_proj.weight");
        let scale = raw.floats(&format!("{name}_scale_inv"))[0];
        let apply = |code: f32| if fall { code / scale } else { code * scale };
        raw.floats(&name).into_iter().map(apply).collect()
    }),
    ("the scale is forgotten", "fp8/hf-tensor", "self_attn.k_proj.weight", |raw, fall| {
        let name = format!("{L}self_attn.k_proj.weight");
        let scale = if fall { 1.0 } else { raw.floats(&format!("{name}_scale_inv"))[0] };
        raw.floats(&name).into_iter().map(|code| code * scale).collect()
    }),
    (
        "partial blocks are taken for an even division",
        "fp8/edges",
        "self_attn.kv_a_proj_with_mqa.weight",
        |raw, fall| {
            let name = format!("{L}self_attn.kv_a_proj_with_mqa.weight");
            let block = if fall { [6, 12] } else { [8, 16] };
            blocks(raw, &name, &format!("{name}_scale_inv"), block, 3)
        },
    ),
    ("a padded grid is taken for a full one", "fp8/edges", "mlp.down_proj.weight", |raw, fall| {
        let name = format!("{L}mlp.down_proj.weight");
        blocks(raw, &name, &format!("{name}_scale_inv"), [8, 16], if fall { 3 } else { 4 })
    }),
    (
        "a grid kept in place loses its leading side",
        "fp8/modelopt-block",
        "self_attn.k_proj.weight",
        |raw, fall| {
            let name = format!("{L}self_attn.k_proj.weight");
            let scale = format!("{name}_scale");
            let mut raw = Raw(raw.0.clone());
            let rounded = raw.floats(&scale).into_iter().flat_map(|s| in_bf16(s).to_le_bytes());
            raw.0.get_mut(&scale).unwrap().2 = rounded.collect();
            let (block, cells) = if fall { ([4, 16], 1) } else { ([8, 8], 2) };
            blocks(&raw, &name, &scale, block, cells)
        },
    ),
    (
        "the scale is not rounded before its use",
        "fp8/modelopt-fp8",
        "self_attn.q_proj.weight",
        |raw, fall| {
            let name = format!("{L}self_attn.q_proj.weight");
            let scale = raw.floats(&format!("{name}_scale"))[0];
            let scale = if fall { scale } else { in_bf16(scale) };
            raw.floats(&name).into_iter().map(|code| code * scale).collect()
        },
    ),
    (
        "bytes of E8M0 read as numbers",
        "fp8/modelopt-mxfp8",
        "self_attn.k_proj.weight",
        |raw, fall| {
            let name = format!("{L}self_attn.k_proj.weight");
            let scales = raw.bytes(&format!("{name}_scale"));
            let scale = |byte: u8| if fall { f32::from(byte) } else { e8m0(byte) };
            let codes = raw.floats(&name).into_iter().enumerate();
            codes.map(|(at, code)| code * scale(scales[at / 32])).collect()
        },
    ),
];
