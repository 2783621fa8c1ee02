//! Traps of whole numbers with scales and zero points.

use half::f16;

use super::codes::{field, in_bf16};
use super::raw::Raw;
use super::{L, Trap};

/// GPTQ and AWQ in 4 bits: `[in, out]` codes and zero points, transposed.
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
        // If this reading runs out of words, that shows the mistake as well.
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

pub const WHOLES: &[Trap] = &[
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
