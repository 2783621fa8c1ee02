//! IQ1: eight of -1, 0 and 1 from a grid, moved up or down by 1/8, and a scale of three bits.
//!
//! | type | bytes of a block of 256 |
//! |---|---|
//! | IQ1_S | f16 `d`; 32 lower grid bytes; for each 32 a u16: four times the upper three bits of the grid, the scale, the direction |
//! | IQ1_M | 32 lower grid bytes; for each 8 a nibble: the upper three bits of the grid, the direction; four u16 |
//!
//! Each u16 of IQ1_M holds four scales, for 16 elements each, and above them four bits of the f16
//! `d`, the lowest first. A direction that is set means down. Value: d (2 s + 1) times the moved
//! number.

use super::grids;
use super::kernel::{Blocks, Encodes, Kernel, Rows, coder, decoded_by, half_at};
use super::rounding::half_bytes;
use super::splits::{self, Found, Part, small_scale};
use crate::simd::{Isa, half_to_f32};

pub(super) static KERNELS: &[Kernel] = &[coder::<S, S, 50, 256>(), coder::<M, M, 56, 256>()];

/// What a scale of three bits, the lowest of `bits`, makes of `d`.
#[inline(always)]
fn scaled(d: f32, bits: u16) -> f32 {
    d * f32::from(2 * (bits & 7) + 1)
}

/// Eight numbers of the grid, moved and scaled.
#[inline(always)]
fn scale_moved(out: &mut [f32], scale: f32, entry: [u8; 8], down: bool) {
    let delta = if down { -0.125 } else { 0.125 };
    for (out, number) in out.iter_mut().zip(entry) {
        *out = scale * (f32::from(number.cast_signed()) + delta);
    }
}

struct S;

impl Blocks<50, 256> for S {
    const NAME: &'static str = "IQ1_S";

    #[inline(always)]
    fn define(block: &[u8; 50], out: &mut [f32; 256]) {
        let d = half_at(block, 0);
        let (lower, words) = (&block[2..34], block[34..].as_chunks::<2>().0);
        for (index, out) in out.chunks_exact_mut(8).enumerate() {
            let word = u16::from_le_bytes(words[index / 4]);
            let above = usize::from(word >> (index % 4 * 3) & 7);
            let entry = grids::IQ1[usize::from(lower[index]) | above << 8];
            scale_moved(out, scaled(d, word >> 12), entry, word >> 15 == 1);
        }
    }

    decoded_by!(50 => 256: iq1_s(block, &grids::digits::IQ1.0));
}

struct M;

/// The four u16 of scales, and `d` from their upper bits.
#[inline(always)]
fn scales_of_m(block: &[u8; 56]) -> ([u16; 4], f32) {
    let at = |word: usize| u16::from_le_bytes([block[48 + 2 * word], block[49 + 2 * word]]);
    let words = [at(0), at(1), at(2), at(3)];
    let d = words.iter().rev().fold(0, |d, word| d << 4 | word >> 12);
    (words, half_to_f32(d))
}

impl Blocks<56, 256> for M {
    const NAME: &'static str = "IQ1_M";

    #[inline(always)]
    fn define(block: &[u8; 56], out: &mut [f32; 256]) {
        let (scales, d) = scales_of_m(block);
        let (lower, nibbles) = (&block[..32], &block[32..48]);
        for (index, out) in out.chunks_exact_mut(8).enumerate() {
            let nibble = nibbles[index / 2] >> (index % 2 * 4);
            let scale = scaled(d, scales[index / 8] >> (index / 2 % 4 * 3));
            let entry = grids::IQ1[usize::from(lower[index]) | usize::from(nibble & 7) << 8];
            scale_moved(out, scale, entry, nibble & 8 != 0);
        }
    }

    decoded_by!(56 => 256: iq1_m(block, &grids::digits::IQ1.0, scales_of_m(block).1));
}

/// The importance of the columns of a block among all.
#[inline(always)]
fn importance_of<'a>(rows: &Rows<'a>, block: usize) -> Option<&'a [f32; 256]> {
    let blocks = rows.importance?.as_chunks::<256>().0;
    blocks.get(block % (rows.columns / 256))
}

/// The largest scale of some parts.
fn largest_scale(parts: &[Found]) -> f32 {
    parts.iter().fold(0.0, |most, part| if most > part.scale { most } else { part.scale })
}

impl Encodes<Self, 50, 256> for S {
    const NEEDS_IMPORTANCE: bool = true;

    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; 50]]) {
        for (index, values) in row.as_chunks::<256>().0.iter().enumerate() {
            let importance = importance.map(|all| &all.as_chunks::<256>().0[index]);
            let weights = splits::weights(values, importance);
            let found = parts(values, &weights).map(|part| part.search_whole().unwrap_or_default());
            write_s(&found, &mut out[index]);
        }
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 50]]) {
        for (at, (values, out)) in rows.values.as_chunks::<256>().0.iter().zip(out).enumerate() {
            let weights = splits::weights(values, importance_of(&rows, at));
            let mut found = [Found::default(); 8];
            for (found, part) in found.iter_mut().zip(parts::<32, 8>(values, &weights)) {
                *found = part.search_whole_in_lanes(isa).unwrap_or_default();
            }
            write_s(&found, out);
        }
    }
}

/// The parts of a block.
#[inline(always)]
fn parts<'a, const N: usize, const PARTS: usize>(
    values: &'a [f32; 256],
    weights: &'a [f32; 256],
) -> [Part<'a, N>; PARTS] {
    let (values, weights) = (values.as_chunks::<N>().0, weights.as_chunks::<N>().0);
    std::array::from_fn(|n| Part { values: &values[n], weights: &weights[n] })
}

fn write_s(found: &[Found; 8], out: &mut [u8; 50]) {
    *out = [0; 50];
    let most = largest_scale(found);
    let d = most / 15.0;
    if most != 0.0 {
        out[..2].copy_from_slice(&half_bytes(d * 1.125));
    }
    for (index, found) in found.iter().enumerate() {
        let mut word = 0;
        for (n, point) in found.points.into_iter().enumerate() {
            let [lower, upper] = point.to_le_bytes();
            out[2 + 4 * index + n] = lower;
            word |= u16::from(upper) << (3 * n);
        }
        if most != 0.0 {
            let scale = small_scale(1.0 / d, found.scale) | (found.down & 1) << 3;
            word |= u16::from(scale) << 12;
        }
        out[34 + 2 * index..][..2].copy_from_slice(&word.to_le_bytes());
    }
}

impl Encodes<Self, 56, 256> for M {
    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; 56]]) {
        for (index, values) in row.as_chunks::<256>().0.iter().enumerate() {
            let importance = importance.map(|all| &all.as_chunks::<256>().0[index]);
            let weights = splits::weights(values, importance);
            let parts = parts(values, &weights);
            let found = parts.map(|part| part.search_halves().unwrap_or_default());
            write_m(&parts, &found, &mut out[index]);
        }
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 56]]) {
        for (at, (values, out)) in rows.values.as_chunks::<256>().0.iter().zip(out).enumerate() {
            let weights = splits::weights(values, importance_of(&rows, at));
            let parts = parts(values, &weights);
            let mut found = [Found::default(); 16];
            for (found, part) in found.iter_mut().zip(&parts) {
                *found = part.search_halves_in_lanes(isa).unwrap_or_default();
            }
            write_m(&parts, &found, out);
        }
    }
}

fn write_m(parts: &[Part<'_, 16>; 16], found: &[Found; 16], out: &mut [u8; 56]) {
    *out = [0; 56];
    for (index, found) in found.iter().enumerate() {
        let [[first, above_first], [second, above_second]] =
            [found.points[0].to_le_bytes(), found.points[1].to_le_bytes()];
        out[2 * index..][..2].copy_from_slice(&[first, second]);
        out[32 + index] = above_first | above_second << 4;
    }
    let most = largest_scale(found);
    if most == 0.0 {
        return;
    }
    let mut d = most / 15.0;
    let (inverse, mut sums, mut words) = (1.0 / d, (0.0, 0.0), [0u16; 4]);
    for (index, (part, found)) in parts.iter().zip(found).enumerate() {
        let scale = small_scale(inverse, found.scale);
        words[index / 4] |= u16::from(scale) << (3 * (index % 4));
        out[32 + index] |= (found.down & 1) << 3 | (found.down >> 1 & 1) << 7;
        part.fit_found(found, scale, &mut sums);
    }
    // All scales are known, and the block's is fitted to them.
    if sums.1 > 0.0 {
        d = sums.0 / sums.1;
    }
    let d = u16::from_le_bytes(half_bytes(d * 1.1125));
    for (n, word) in words.into_iter().enumerate() {
        let word = word | (d >> (4 * n) & 15) << 12;
        out[48 + 2 * n..][..2].copy_from_slice(&word.to_le_bytes());
    }
}
