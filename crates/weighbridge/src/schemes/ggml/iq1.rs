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
use super::kernel::{Blocks, Kernel, half_at, kernel};
use crate::simd::{Isa, Number, half_to_f32};

pub(super) static KERNELS: &[Kernel] = &[kernel::<S, 50, 256>(), kernel::<M, 56, 256>()];

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

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 50], out: &mut [T; 256]) {
        isa.iq1_s(block, &grids::digits::IQ1.0, out, |values| Self::define(block, values));
    }
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

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 56], out: &mut [T; 256]) {
        let (grid, scale) = (&grids::digits::IQ1.0, scales_of_m(block).1);
        isa.iq1_m(block, grid, scale, out, |values| Self::define(block, values));
    }
}
