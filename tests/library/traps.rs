//! The mistakes that other readers of these files make, each against a file in which it shows.
//!
//! A trap is a weight of a fixture, read here from its raw tensors in a few lines: rightly, and
//! as the trap has it. The right reading must be what the canonical library decoded and what we
//! decode; the wrong one must not be. So a fixture that stops showing its trap fails too.

use std::collections::HashMap;

use crate::common::fixtures::{Fixture, fixtures};
use half::{bf16, f16};
use weighbridge::Element;
use weighbridge::{DType, OpenOptions, Stores, Weight};

/// Every stored tensor of a fixture: type, shape, bytes.
struct Raw(HashMap<String, (String, Vec<usize>, Vec<u8>)>);

impl Raw {
    fn of(fixture: &Fixture) -> Self {
        let mut all = HashMap::new();
        for entry in std::fs::read_dir(fixture.model().path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "safetensors") {
                let bytes = std::fs::read(path).unwrap();
                let size = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap()));
                let (header, data) = bytes[8..].split_at(size.unwrap());
                let header: serde_json::Value = serde_json::from_slice(header).unwrap();
                for (name, info) in header.as_object().unwrap() {
                    let numbers = |key: &str| -> Vec<usize> {
                        serde_json::from_value(info[key].clone()).unwrap_or_default()
                    };
                    let &[start, end] = &numbers("data_offsets")[..] else { continue };
                    let kind = info["dtype"].as_str().unwrap().to_owned();
                    let tensor = (kind, numbers("shape"), data[start..end].to_vec());
                    all.insert(name.clone(), tensor);
                }
            }
        }
        Self(all)
    }

    fn bytes(&self, name: &str) -> &[u8] {
        &self.0.get(name).unwrap_or_else(|| panic!("there is no {name}")).2
    }

    fn shape(&self, name: &str) -> &[usize] {
        &self.0[name].1
    }

    fn words(&self, name: &str) -> Vec<u32> {
        let words = self.bytes(name).chunks_exact(4);
        words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    /// Numbers of any type of scales.
    fn floats(&self, name: &str) -> Vec<f32> {
        let (bytes, kind) = (self.bytes(name), &*self.0[name].0);
        let pairs = || bytes.chunks_exact(2).map(|two| [two[0], two[1]]);
        match kind {
            "F32" => self.words(name).into_iter().map(f32::from_bits).collect(),
            "BF16" => pairs().map(|two| bf16::from_le_bytes(two).to_f32()).collect(),
            "F16" => pairs().map(|two| f16::from_le_bytes(two).to_f32()).collect(),
            "F8_E4M3" => bytes.iter().map(|&code| e4m3(code)).collect(),
            "U8" | "F8_E8M0" => bytes.iter().map(|&code| e8m0(code)).collect(),
            other => panic!("{name} is {other}"),
        }
    }
}

fn e4m3(code: u8) -> f32 {
    let (exponent, fraction) = (i32::from(code >> 3 & 15), f32::from(code & 7) / 8.0);
    let size = match exponent {
        0 => fraction * 2f32.powi(-6),
        _ => (1.0 + fraction) * 2f32.powi(exponent - 7),
    };
    if code < 128 { size } else { -size }
}

/// The upper half of an f16.
fn e5m2(code: u8) -> f32 {
    f16::from_le_bytes([0, code]).to_f32()
}

/// A power of two; the byte 0 is the least, which f32 has as a subnormal number.
fn e8m0(code: u8) -> f32 {
    f32::from_bits(if code == 0 { 1 << 22 } else { u32::from(code) << 23 })
}

const E2M1: [f32; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

fn e2m1(code: u8) -> f32 {
    let size = E2M1[usize::from(code & 7)];
    if code < 8 { size } else { -size }
}

/// Nibble `at` of bytes, low or high half first.
fn nibble(bytes: &[u8], at: usize, high_first: bool) -> u8 {
    let high = (at % 2 == 1) != high_first;
    if high { bytes[at / 2] >> 4 } else { bytes[at / 2] & 15 }
}

/// `bits` bits of a stream of words.
fn field(words: &[u32], start: usize, bits: usize) -> u32 {
    (0..bits).map(|i| (words[(start + i) / 32] >> ((start + i) % 32) & 1) << i).sum()
}

fn in_bf16(value: f32) -> f32 {
    bf16::from_f32(value).to_f32()
}

/// Codes of 8 bits with a grid of scales, `cells` in each of its rows.
fn blocks(raw: &Raw, name: &str, scale: &str, block: [usize; 2], cells: usize) -> Vec<f32> {
    let (codes, scales) = (raw.floats(name), raw.floats(scale));
    let columns = raw.shape(name)[1];
    let cell = |at: usize| at / columns / block[0] * cells + at % columns / block[1];
    codes.iter().enumerate().map(|(at, code)| code * scales[cell(at)]).collect()
}

/// A weight read rightly (`false`) or wrongly (`true`).
type Reading = fn(&Raw, bool) -> Vec<f32>;

/// What goes wrong, where it shows, and both readings.
type Trap = (&'static str, &'static str, &'static str, Reading);

const L: &str = "model.layers.0.";

const FLOATS: &[Trap] = &[
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

/// NVFP4 with scales in rows.
fn nvfp4(raw: &Raw, codes: &str, scale: &str, total: impl Fn(f32) -> f32, high: bool) -> Vec<f32> {
    let (codes, scales) = (raw.bytes(codes), raw.floats(scale));
    let value = |at: usize| e2m1(nibble(codes, at, high)) * total(scales[at / 16]);
    (0..codes.len() * 2).map(value).collect()
}

/// MXFP4 in blocks of 16 bytes, turned or not.
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

const FOURS: &[Trap] = &[
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
            // Its table has no negative nought.
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

/// GPTQ and AWQ in 4 bits: `[in, out]` codes and zero points, turned.
fn columns(
    raw: &Raw,
    name: &str,
    code: impl Fn(usize, usize) -> u32,
    zero: impl Fn(usize, usize) -> u32,
) -> Vec<f32> {
    let scales = raw.floats(&format!("{name}.scales"));
    let &[groups, outputs] = raw.shape(&format!("{name}.scales")) else { panic!("{name}") };
    let inputs = groups * 32;
    let value = |at: usize| {
        let (output, input) = (at / inputs, at % inputs);
        let step = code(input, output).cast_signed() - zero(input / 32, output).cast_signed();
        f16::from_f32(step as f32 * scales[input / 32 * outputs + output]).to_f32()
    };
    (0..inputs * outputs).map(value).collect()
}

fn gptq(raw: &Raw, more: u32) -> Vec<f32> {
    let name = format!("{L}mlp.down_proj");
    let (words, zeros) =
        (raw.words(&format!("{name}.qweight")), raw.words(&format!("{name}.qzeros")));
    columns(
        raw,
        &name,
        |input, output| words[input / 8 * 64 + output] >> (input % 8 * 4) & 15,
        |group, output| field(&zeros, (group * 64 + output) * 4, 4) + more,
    )
}

/// How zero points are packed.
#[derive(Clone, Copy)]
enum Zeros {
    /// Whole ones in a word, along the rows.
    Words,
    /// A stream along the rows.
    Stream,
    /// A stream along the columns of groups: nobody writes that.
    AlongColumns,
}

/// Packed integers of compressed-tensors, a row as a stream or as words of whole codes.
fn packed(
    raw: &Raw,
    name: &str,
    bits: usize,
    group: usize,
    stream: bool,
    packing: Zeros,
) -> Vec<f32> {
    let tensor = |part: &str| format!("{L}{name}_{part}");
    let (words, zeros) = (raw.words(&tensor("packed")), raw.words(&tensor("zero_point")));
    let (scales, cells) = (raw.floats(&tensor("scale")), raw.shape(&tensor("scale"))[1]);
    let rows = raw.shape(&tensor("packed"))[0];
    let (width, columns) = (words.len() / rows, cells * group);
    let (whole, mask) = (32 / bits, (1 << bits) - 1);
    let code = |row: usize, column: usize| match stream {
        true => field(&words[row * width..], column * bits, bits),
        // Too few words for this reading are one more way in which it shows.
        false => {
            let word = words.get(row * width + column / whole).copied().unwrap_or_default();
            word >> (column % whole * bits) & mask
        }
    };
    let zero = |row: usize, cell: usize| match packing {
        Zeros::Words => zeros[row / whole * cells + cell] >> (row % whole * bits) & mask,
        Zeros::AlongColumns => field(&zeros, (row * cells + cell) * bits, bits),
        Zeros::Stream => {
            let column: Vec<u32> = zeros.iter().skip(cell).step_by(cells).copied().collect();
            field(&column, row * bits, bits)
        }
    };
    let value = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        let step = code(row, column).cast_signed() - zero(row, column / group).cast_signed();
        step as f32 * scales[row * cells + column / group]
    };
    (0..rows * columns).map(value).collect()
}

const WHOLES: &[Trap] = &[
    ("GPTQ's zero point without its one", "gptq/asym-v1", "mlp.down_proj.weight", |raw, fall| {
        gptq(raw, u32::from(!fall))
    }),
    ("a one added to the second format", "gptq/v2", "mlp.down_proj.weight", |raw, fall| {
        gptq(raw, u32::from(fall))
    }),
    ("AWQ's nibbles in their own order", "awq/gemm-g32", "self_attn.q_proj.weight", |raw, fall| {
        let name = format!("{L}self_attn.q_proj");
        let (words, zeros) =
            (raw.words(&format!("{name}.qweight")), raw.words(&format!("{name}.qzeros")));
        let order = if fall { [0, 1, 2, 3, 4, 5, 6, 7] } else { [0, 4, 1, 5, 2, 6, 3, 7] };
        let of = |words: &[u32], row: usize, column: usize| {
            words[row * 4 + column / 8] >> (order[column % 8] * 4) & 15
        };
        columns(
            raw,
            &name,
            |input, output| of(&words, input, output),
            |group, output| of(&zeros, group, output),
        )
    }),
    (
        "whole codes a word read as a stream",
        "compressed/words-widths",
        "self_attn.k_proj.weight",
        |raw, fall| packed(raw, "self_attn.k_proj.weight", 3, 32, fall, Zeros::Words),
    ),
    (
        "a stream read as whole codes a word",
        "compressed/widths",
        "self_attn.v_proj.weight",
        |raw, fall| packed(raw, "self_attn.v_proj.weight", 3, 32, !fall, Zeros::Stream),
    ),
    (
        "zero points packed along the columns",
        "compressed/int4-g16-asym",
        "self_attn.k_proj.weight",
        |raw, fall| {
            let zeros = if fall { Zeros::AlongColumns } else { Zeros::Stream };
            packed(raw, "self_attn.k_proj.weight", 4, 16, true, zeros)
        },
    ),
    ("integers copied through", "compressed/w8a8", "self_attn.k_proj.weight", |raw, fall| {
        let name = format!("{L}self_attn.k_proj.weight");
        let (scales, codes) = (raw.floats(&format!("{name}_scale")), raw.bytes(&name));
        let zeros = raw.0.get(&format!("{name}_zero_point")).map(|zeros| zeros.2.clone());
        let value = |(at, byte): (usize, &u8)| {
            let zero = zeros.as_ref().map_or(0, |zeros| zeros[at / 32].cast_signed());
            let step = f32::from(byte.cast_signed()) - f32::from(zero);
            if fall { f32::from(byte.cast_signed()) } else { step * scales[at / 32] }
        };
        codes.iter().enumerate().map(value).collect()
    }),
    ("MLX's words copied through", "mlx/llama", "self_attn.q_proj.weight", |raw, fall| {
        let name = format!("{L}self_attn.q_proj");
        let words = raw.words(&format!("{name}.weight"));
        if fall {
            return words.into_iter().map(|word| word as f32).collect();
        }
        let (scales, biases) =
            (raw.floats(&format!("{name}.scales")), raw.floats(&format!("{name}.biases")));
        let code = |at: usize| field(&words, at * 3, 3) as f32;
        (0..8 * 64).map(|at| in_bf16(code(at) * scales[at / 64]) + biases[at / 64]).collect()
    }),
];

fn native<T: Element>(weight: &Weight, widen: fn(T) -> f32) -> Vec<f32> {
    let mut out = vec![T::default(); weight.len()];
    weight.decode_into(&mut out).unwrap();
    out.into_iter().map(widen).collect()
}

fn decoded(weight: &Weight, dtype: DType) -> Vec<f32> {
    match dtype {
        DType::BF16 => native(weight, bf16::to_f32),
        DType::F16 => native(weight, f16::to_f32),
        _ => native(weight, |value: f32| value),
    }
}

fn rounded(values: Vec<f32>, dtype: DType) -> Vec<f32> {
    let round: fn(f32) -> f32 = match dtype {
        DType::BF16 => in_bf16,
        DType::F16 => |value| f16::from_f32(value).to_f32(),
        _ => |value| value,
    };
    values.into_iter().map(round).collect()
}

fn check(traps: &[Trap]) {
    let all = fixtures();
    for &(trap, fixture, name, reading) in traps {
        let fixture = all.iter().find(|known| known.name == fixture).expect(fixture);
        let name = match name {
            "" => "single_blocks.0.linear1.weight".to_owned(),
            name => format!("{L}{name}"),
        };
        let folder = fixture.model();
        let options = OpenOptions::new().stores(Stores::none());
        let model = options.open(folder.path()).unwrap();
        let expected = options.open(fixture.path.join("expected.safetensors")).unwrap();
        let expected = expected.weight(&name).unwrap_or_else(|error| panic!("{trap}: {error}"));
        let dtype = expected.native().unwrap();
        let library = decoded(&expected, dtype);
        let raw = Raw::of(fixture);
        assert!(decoded(&model.weight(&name).unwrap(), dtype) == library, "{trap}: ours");
        assert!(rounded(reading(&raw, false), dtype) == library, "{trap}: the right reading");
        assert!(rounded(reading(&raw, true), dtype) != library, "{trap}: does not show");
    }
}

#[test]
fn eight_bit_floats() {
    check(FLOATS);
}

#[test]
fn four_bit_floats() {
    check(FOURS);
}

#[test]
fn whole_numbers() {
    check(WHOLES);
}
