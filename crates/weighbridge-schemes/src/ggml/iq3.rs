//! IQ3: four magnitudes from a grid, a sign each, and a scale of four bits over 32 of them.
//!
//! | type | bytes of a block of 256 | value |
//! |---|---|---|
//! | IQ3_XXS | f16 `d`; 64 grid bytes; for each 32: u32 of four times seven signs and the scale | d (s + 1/2) / 2 times the signed magnitude |
//! | IQ3_S | f16 `d`; 64 lower grid bytes; 64 ninth bits of the grid; 32 times eight signs; 8 scales | d (2 s + 1) times the signed magnitude |
//!
//! Where seven signs are stored, the eighth makes their number even.

use super::grids::{self, cells, digits, even_signs, scale_signed};
use super::kernel::{Blocks, Encodes, Kernel, Rows, coder, decoded_by, half_at};
use super::magnitudes::{Again, Encoded, Kind, Rules};
use crate::simd::Isa;

pub(super) static KERNELS: &[Kernel] = &[coder::<Xxs, Xxs, 98, 256>(), coder::<S, S, 110, 256>()];

/// Two entries of a grid side by side.
#[inline(always)]
fn pair([a, b, c, d]: [u8; 4], [e, f, g, h]: [u8; 4]) -> [u8; 8] {
    [a, b, c, d, e, f, g, h]
}

struct Xxs;

impl Blocks<98, 256> for Xxs {
    const NAME: &'static str = "IQ3_XXS";

    #[inline(always)]
    fn define(block: &[u8; 98], out: &mut [f32; 256]) {
        let d = half_at(block, 0);
        let (entries, words) = (block[2..66].as_chunks::<2>().0, block[66..].as_chunks::<4>().0);
        for (index, (&entries, out)) in entries.iter().zip(out.chunks_exact_mut(8)).enumerate() {
            let word = u32::from_le_bytes(words[index / 4]);
            let scale = d * (0.5 + f32::from(words[index / 4][3] >> 4)) * 0.5;
            let [first, second] = entries.map(|entry| grids::IQ3_XXS[usize::from(entry)]);
            scale_signed(out, scale, pair(first, second), even_signs(word >> (7 * (index % 4))));
        }
    }

    decoded_by!(98 => 256: iq3_xxs(block, digits::IQ3_XXS_MAGNITUDES, &digits::IQ3_XXS.0,
        &digits::IQ3_XXS_NUMBERS.0));
}

struct S;

impl Blocks<110, 256> for S {
    const NAME: &'static str = "IQ3_S";

    #[inline(always)]
    fn define(block: &[u8; 110], out: &mut [f32; 256]) {
        let d = half_at(block, 0);
        let (lower, ninth, signs, scales) =
            (&block[2..66], &block[66..74], &block[74..106], &block[106..110]);
        let entry = |at: usize| {
            let above = usize::from(ninth[at / 8] >> (at % 8) & 1);
            grids::IQ3_S[usize::from(lower[at]) | above << 8]
        };
        for (index, out) in out.chunks_exact_mut(8).enumerate() {
            let scale = scales[index / 8] >> (index / 4 % 2 * 4) & 15;
            let scale = d * (1.0 + 2.0 * f32::from(scale));
            scale_signed(out, scale, pair(entry(2 * index), entry(2 * index + 1)), signs[index]);
        }
    }

    decoded_by!(110 => 256: iq3_s(block, digits::IQ3_S_MAGNITUDES, &digits::IQ3_S.0,
        &digits::IQ3_S_NUMBERS.0));
}

static ENCODING_XXS: Kind<4> = Kind {
    cells: &cells::IQ3_XXS,
    rules: Rules { steps: 15, step: 0.2, again: Again::OffGrid },
    even_signs: true,
    least: 1e-8,
    fits_first: false,
    variance: 2.0,
    plain_weight: 0.0,
    stored: 1.0125,
};

fn write_xxs(of: &Encoded, out: &mut [u8; 98]) {
    *out = [0; 98];
    if of.is_zero {
        return;
    }
    out[..2].copy_from_slice(&of.d);
    for (index, part) in of.parts[..8].iter().enumerate() {
        for (n, point) in part.points.into_iter().enumerate() {
            out[2 + 8 * index + n] = point.to_le_bytes()[0];
        }
        let signs = (0..4).fold(0, |all, n| all | u32::from(part.signs[n]) << (7 * n));
        let word = signs | u32::from(part.scale) << 28;
        out[66 + 4 * index..][..4].copy_from_slice(&word.to_le_bytes());
    }
}

impl Encodes<Self, 98, 256> for Xxs {
    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; 98]]) {
        ENCODING_XXS.define::<32>(row, importance, |index, of| write_xxs(of, &mut out[index]));
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 98]]) {
        ENCODING_XXS.encode::<I, 32, _>(isa, rows, out, write_xxs);
    }
}

static ENCODING_S: Kind<4> = Kind {
    cells: &cells::IQ3_S,
    rules: Rules { steps: 9, step: 0.2, again: Again::AllIfOffGrid },
    even_signs: false,
    // Only zeros are zeros.
    least: f32::from_bits(1),
    fits_first: false,
    variance: 2.0,
    plain_weight: 0.0,
    stored: 1.033,
};

fn write_s(of: &Encoded, out: &mut [u8; 110]) {
    *out = [0; 110];
    out[..2].copy_from_slice(&of.d);
    // ggml does not step over parts of zeros: what follows them lies in their place, but for the
    // ninth bits.
    let mut place = 0;
    for (index, part) in of.parts[..8].iter().enumerate() {
        out[106 + index / 2] |= part.scale << (index % 2 * 4);
        if part.is_zero {
            continue;
        }
        for (n, point) in part.points.into_iter().enumerate() {
            let [lower, upper] = point.to_le_bytes();
            out[2 + 8 * place + n] = lower;
            out[66 + index] |= upper << n;
        }
        out[74 + 4 * place..][..4].copy_from_slice(&part.signs);
        place += 1;
    }
}

impl Encodes<Self, 110, 256> for S {
    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; 110]]) {
        ENCODING_S.define::<32>(row, importance, |index, of| write_s(of, &mut out[index]));
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 110]]) {
        ENCODING_S.encode::<I, 32, _>(isa, rows, out, write_s);
    }
}
