//! IQ2: eight magnitudes from a grid, a sign each, and a scale of four bits over 16 or 32 of them.
//!
//! | type | bytes of a block of 256 |
//! |---|---|
//! | IQ2_XXS | f16 `d`; for each 32: four grid bytes, u32 of four times seven signs and the scale |
//! | IQ2_XS | f16 `d`; 32 u16 of nine grid bits and seven signs; 16 scales |
//! | IQ2_S | f16 `d`; 32 lower grid bytes; 32 times eight signs; 32 upper two bits of the grid; 16 scales |
//!
//! Where seven signs are stored, the eighth makes their number even. Value: d (s + 1/2) / 4 times
//! the signed magnitude.

use super::grids::{self, cells, even_signs, scale_signed};
use super::kernel::{Blocks, Encodes, Kernel, Rows, coder, decoded_by, half_at};
use super::magnitudes::{Again, Encoded, Kind, Rules};
use crate::simd::Isa;

pub(super) static KERNELS: &[Kernel] =
    &[coder::<Xxs, Xxs, 66, 256>(), coder::<Xs, Xs, 74, 256>(), coder::<S, S, 82, 256>()];

/// What a four-bit scale makes of `d`.
#[inline(always)]
fn scaled(d: f32, scale: u8) -> f32 {
    d * (0.5 + f32::from(scale)) * 0.25
}

/// Nibble `index`.
#[inline(always)]
fn nibble(bytes: &[u8], index: usize) -> u8 {
    bytes[index / 2] >> (index % 2 * 4) & 15
}

struct Xxs;

impl Blocks<66, 256> for Xxs {
    const NAME: &'static str = "IQ2_XXS";

    #[inline(always)]
    fn define(block: &[u8; 66], out: &mut [f32; 256]) {
        let d = half_at(block, 0);
        let groups = block[2..].as_chunks::<8>().0;
        for (&[entries @ .., a, b, c, e], out) in groups.iter().zip(out.chunks_exact_mut(32)) {
            let bits = u32::from_le_bytes([a, b, c, e]);
            let scale = scaled(d, e >> 4);
            for (index, (entry, out)) in
                entries.into_iter().zip(out.chunks_exact_mut(8)).enumerate()
            {
                let signs = even_signs(bits >> (7 * index));
                scale_signed(out, scale, grids::IQ2_XXS[usize::from(entry)], signs);
            }
        }
    }

    decoded_by!(66 => 256: iq2_xxs(block, &grids::digits::IQ2_XXS.0));
}

struct Xs;

impl Blocks<74, 256> for Xs {
    const NAME: &'static str = "IQ2_XS";

    #[inline(always)]
    fn define(block: &[u8; 74], out: &mut [f32; 256]) {
        let (d, words) = (half_at(block, 0), block[2..66].as_chunks::<2>().0);
        for (index, (&word, out)) in words.iter().zip(out.chunks_exact_mut(8)).enumerate() {
            let word = u16::from_le_bytes(word);
            let scale = scaled(d, nibble(&block[66..], index / 2));
            let entry = grids::IQ2_XS[usize::from(word & 511)];
            scale_signed(out, scale, entry, even_signs(u32::from(word >> 9)));
        }
    }

    decoded_by!(74 => 256: iq2_xs(block, &grids::digits::IQ2_XS.0));
}

struct S;

impl Blocks<82, 256> for S {
    const NAME: &'static str = "IQ2_S";

    #[inline(always)]
    fn define(block: &[u8; 82], out: &mut [f32; 256]) {
        let d = half_at(block, 0);
        let (lower, signs, upper, scales) =
            (&block[2..34], &block[34..66], &block[66..74], &block[74..82]);
        for (index, out) in out.chunks_exact_mut(8).enumerate() {
            let above = usize::from(upper[index / 4] >> (index % 4 * 2) & 3);
            let entry = grids::IQ2_S[usize::from(lower[index]) | above << 8];
            scale_signed(out, scaled(d, nibble(scales, index / 2)), entry, signs[index]);
        }
    }

    decoded_by!(82 => 256: iq2_s(block, &grids::digits::IQ2_S.0));
}

static ENCODING_XXS: Kind<8> = Kind {
    cells: &cells::IQ2_XXS,
    rules: Rules { steps: 6, step: 0.1, again: Again::All },
    even_signs: true,
    least: 1e-15,
    fits_first: true,
    variance: 1.0,
    plain_weight: 0.0,
    stored: 1.0,
};

fn write_xxs(of: &Encoded, out: &mut [u8; 66]) {
    *out = [0; 66];
    if of.is_zero {
        return;
    }
    out[..2].copy_from_slice(&of.d);
    for (part, out) in of.parts.iter().zip(out[2..].as_chunks_mut::<8>().0) {
        let signs = (0..4).fold(0, |all, n| all | u32::from(part.signs[n]) << (7 * n));
        let word = signs | u32::from(part.scale) << 28;
        (0..4).for_each(|n| out[n] = part.points[n].to_le_bytes()[0]);
        out[4..].copy_from_slice(&word.to_le_bytes());
    }
}

impl Encodes<Self, 66, 256> for Xxs {
    const NEEDS_IMPORTANCE: bool = true;

    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; 66]]) {
        ENCODING_XXS.define::<32>(row, importance, |index, of| write_xxs(of, &mut out[index]));
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 66]]) {
        ENCODING_XXS.encode::<I, 32, _>(isa, rows, out, write_xxs);
    }
}

static ENCODING_XS: Kind<8> = Kind {
    cells: &cells::IQ2_XS,
    rules: Rules { steps: 9, step: 0.1, again: Again::OffGrid },
    even_signs: true,
    least: 1e-15,
    fits_first: false,
    variance: 1.0,
    plain_weight: 0.0,
    stored: 1.0,
};

fn write_xs(of: &Encoded, out: &mut [u8; 74]) {
    *out = [0; 74];
    if of.is_zero {
        return;
    }
    out[..2].copy_from_slice(&of.d);
    for (index, part) in of.parts.iter().enumerate() {
        for n in 0..2 {
            let word = part.points[n] | u16::from(part.signs[n]) << 9;
            out[2 + 4 * index + 2 * n..][..2].copy_from_slice(&word.to_le_bytes());
        }
        out[66 + index / 2] |= part.scale << (index % 2 * 4);
    }
}

impl Encodes<Self, 74, 256> for Xs {
    const NEEDS_IMPORTANCE: bool = true;

    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; 74]]) {
        ENCODING_XS.define::<16>(row, importance, |index, of| write_xs(of, &mut out[index]));
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 74]]) {
        ENCODING_XS.encode::<I, 16, _>(isa, rows, out, write_xs);
    }
}

static ENCODING_S: Kind<8> = Kind {
    cells: &cells::IQ2_S,
    rules: Rules { steps: 9, step: 0.1, again: Again::OffGrid },
    even_signs: false,
    least: 1e-8,
    fits_first: false,
    variance: 2.0,
    plain_weight: 0.25,
    stored: 0.9875,
};

fn write_s(of: &Encoded, out: &mut [u8; 82]) {
    *out = [0; 82];
    out[..2].copy_from_slice(&of.d);
    for (index, part) in of.parts.iter().enumerate() {
        for n in 0..2 {
            let ([lower, upper], group) = (part.points[n].to_le_bytes(), 2 * index + n);
            out[2 + group] = lower;
            out[34 + group] = part.signs[n];
            out[66 + group / 4] |= upper << (2 * (group % 4));
        }
        out[74 + index / 2] |= part.scale << (index % 2 * 4);
    }
}

impl Encodes<Self, 82, 256> for S {
    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; 82]]) {
        ENCODING_S.define::<16>(row, importance, |index, of| write_s(of, &mut out[index]));
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 82]]) {
        ENCODING_S.encode::<I, 16, _>(isa, rows, out, write_s);
    }
}
