//! IQ3: four magnitudes from a grid, a sign each, and a scale of four bits over 32 of them.
//!
//! | type | bytes of a block of 256 | value |
//! |---|---|---|
//! | IQ3_XXS | f16 `d`; 64 grid bytes; for each 32: u32 of four times seven signs and the scale | d (s + 1/2) / 2 times the signed magnitude |
//! | IQ3_S | f16 `d`; 64 lower grid bytes; 64 ninth bits of the grid; 32 times eight signs; 8 scales | d (2 s + 1) times the signed magnitude |
//!
//! Where seven signs are stored, the eighth makes their number even.

use super::grids::{self, digits, even_signs, scale_signed};
use super::kernel::{Blocks, Kernel, half_at, kernel};
use crate::simd::{Isa, Number};

pub(super) static KERNELS: &[Kernel] = &[kernel::<Xxs, 98, 256>(), kernel::<S, 110, 256>()];

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

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 98], out: &mut [T; 256]) {
        let (grid, numbers) = (&digits::IQ3_XXS.0, &digits::IQ3_XXS_NUMBERS.0);
        isa.iq3_xxs(block, digits::IQ3_XXS_MAGNITUDES, grid, numbers, out, |values| {
            Self::define(block, values);
        });
    }
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

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 110], out: &mut [T; 256]) {
        let (grid, numbers) = (&digits::IQ3_S.0, &digits::IQ3_S_NUMBERS.0);
        isa.iq3_s(block, digits::IQ3_S_MAGNITUDES, grid, numbers, out, |values| {
            Self::define(block, values);
        });
    }
}
