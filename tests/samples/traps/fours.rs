//! Traps of four-bit floats.

use super::codes::{e2m1, e8m0, in_bf16, nibble};
use super::raw::Raw;
use super::{L, Trap};

/// NVFP4 with scales in rows.
fn nvfp4(raw: &Raw, codes: &str, scale: &str, total: impl Fn(f32) -> f32, high: bool) -> Vec<f32> {
    let (codes, scales) = (raw.bytes(codes), raw.floats(scale));
    let value = |at: usize| e2m1(nibble(codes, at, high)) * total(scales[at / 16]);
    (0..codes.len() * 2).map(value).collect()
}

/// MXFP4 in blocks of 16 bytes, transposed or not.
fn gpt_oss(raw: &Raw, least: f32, turned: bool) -> Vec<f32> {
    let name = format!("{L}mlp.experts.down_proj");
    let (codes, scales) =
        (raw.bytes(&format!("{name}_blocks")), raw.bytes(&format!("{name}_scales")));
    let scale = |byte: u8| if byte == 0 { least } else { e8m0(byte) };
    let value = |at: usize| e2m1(nibble(codes, at, false)) * scale(scales[at / 32]);
    let [experts, rows, columns] = [2, 64, 32];
    let place = |at: usize| match turned {
        true => at / rows / columns * rows * columns + at % rows * columns + at / rows % columns,
        false => at,
    };
    (0..experts * rows * columns).map(|at| value(place(at))).collect()
}

pub const FOURS: &[Trap] = &[
    ("the global scale multiplies", "compressed/nvfp4", "self_attn.k_proj.weight", |raw, fall| {
        let name = format!("{L}self_attn.k_proj.weight");
        let global = raw.floats(&format!("{name}_global_scale"))[0];
        let total = |scale: f32| if fall { scale * global } else { scale / global };
        nvfp4(raw, &format!("{name}_packed"), &format!("{name}_scale"), total, false)
    }),
    (
        "ModelOpt's nibbles high half first",
        "nvfp4/modelopt",
        "self_attn.k_proj.weight",
        |raw, fall| {
            let name = format!("{L}self_attn.k_proj.weight");
            let second = raw.floats(&format!("{name}_scale_2"))[0];
            let found = nvfp4(raw, &name, &format!("{name}_scale"), |scale| scale * second, fall);
            // Its table has no negative zero.
            found.into_iter().map(|value| value + 0.0).collect()
        },
    ),
    ("ComfyUI's nibbles low half first", "nvfp4/comfy-metadata", "", |raw, fall| {
        comfy(raw, !fall, true)
    }),
    ("ComfyUI's scales taken for rows", "nvfp4/comfy-metadata", "", |raw, fall| {
        comfy(raw, true, !fall)
    }),
    ("E8M0's 0 taken for nought", "mx/gpt-oss", "mlp.experts.down_proj", |raw, fall| {
        gpt_oss(raw, if fall { 0.0 } else { e8m0(0) }, true)
    }),
    ("rows and columns not exchanged", "mx/gpt-oss", "mlp.experts.down_proj", |raw, fall| {
        gpt_oss(raw, e8m0(0), !fall)
    }),
    (
        "bitsandbytes' nibbles low half first",
        "bnb/nf4-plain",
        "self_attn.k_proj.weight",
        |raw, fall| {
            let name = format!("{L}self_attn.k_proj.weight");
            let (table, scales) =
                (raw.floats(&format!("{name}.quant_map")), raw.floats(&format!("{name}.absmax")));
            let codes = raw.bytes(&name);
            let value = |at: usize| table[usize::from(nibble(codes, at, !fall))] * scales[at / 64];
            (0..codes.len() * 2).map(value).collect()
        },
    ),
];

/// ComfyUI's NVFP4 of 128 rows and 64 columns: scales in a tile, products in bf16.
fn comfy(raw: &Raw, high: bool, tiled: bool) -> Vec<f32> {
    let name = "single_blocks.0.linear1.weight";
    let (codes, scales) = (raw.bytes(name), raw.floats(&format!("{name}_scale")));
    let second = in_bf16(raw.floats(&format!("{name}_scale_2"))[0]);
    let cell = |row: usize, group: usize| match tiled {
        true => row % 32 * 16 + row / 32 * 4 + group,
        false => row * 4 + group,
    };
    let value = |at: usize| {
        let scale = scales[cell(at / 64, at % 64 / 16)];
        e2m1(nibble(codes, at, high)) * in_bf16(second * scale)
    };
    (0..128 * 64).map(value).collect()
}
