//! K types whose values are counted up from a minimum: blocks of 256, cut into groups that have
//! a scale and a minimum of their own, both small integers times one f16 of the block.
//!
//! | type | bytes of a block | groups | value |
//! |---|---|---|---|
//! | Q2_K | 16 of scales, 64 of `q`; f16 `d`, f16 `m` | 16 | (d scale) q - m minimum |
//! | Q4_K | f16 `d`, f16 `m`; 12 of scales, 128 of `q` | 32 | (d scale) q - m minimum |
//! | Q5_K | f16 `d`, f16 `m`; 12 of scales, 32 of fifth bits, 128 of `q` | 32 | (d scale) q - m minimum |
//!
//! Q2_K: a byte of scales is one group's scale (low nibble) and minimum (high nibble). 32 bytes of
//! `q` hold 128 elements: the lowest two bits of each the first 32, the highest two the last 32.
//!
//! Q4_K, Q5_K: 32 bytes of `q` hold 64 elements: the low nibbles the first 32, the high nibbles
//! the others. Bit `g` of fifth-bit byte `i` belongs to element `i` of group `g`. The 12 bytes
//! hold eight scales and eight minimums of six bits each:
//!
//! ```text
//! byte     0 ..  3   scale 0 ..  3    and above them the upper two bits of scale   4 .. 7
//!          4 ..  7   minimum 0 .. 3   and above them the upper two bits of minimum 4 .. 7
//!          8 .. 11   lower four bits of scale 4 .. 7, above them those of minimum 4 .. 7
//! ```

use super::kernel::{Blocks, Kernel, half_at, kernel};
use crate::simd::{Isa, Number};

pub(super) static KERNELS: &[Kernel] =
    &[kernel::<Q2_K, 84, 256>(), kernel::<Q4_K, 144, 256>(), kernel::<Q5_K, 176, 256>()];

/// The eight scales and eight minimums in twelve bytes.
#[inline(always)]
pub(super) fn six_bits(bytes: &[u8]) -> [[u8; 8]; 2] {
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (scales, minimums, lower) = (word(0), word(4), word(8));
    let first = |word: u32| u64::from(word & 0x3f3f_3f3f);
    let last =
        |lower: u32, upper: u32| u64::from(lower & 0x0f0f_0f0f | upper >> 2 & 0x3030_3030) << 32;
    [
        (first(scales) | last(lower, scales)).to_le_bytes(),
        (first(minimums) | last(lower >> 4, minimums)).to_le_bytes(),
    ]
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q2_K;

impl Blocks<84, 256> for Q2_K {
    const NAME: &'static str = "Q2_K";

    #[inline(always)]
    fn define(block: &[u8; 84], out: &mut [f32; 256]) {
        let (d, m) = (half_at(block, 80), half_at(block, 82));
        for (group, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let scale = d * f32::from(block[group] & 15);
            let minimum = m * f32::from(block[group] >> 4);
            let bytes = &block[16 + group / 8 * 32 + group % 2 * 16..][..16];
            let shift = group / 2 % 4 * 2;
            for (out, byte) in out.iter_mut().zip(bytes) {
                *out = scale * f32::from(byte >> shift & 3) - minimum;
            }
        }
    }

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 84], out: &mut [T; 256]) {
        isa.q2_k(block, out, |values| Self::define(block, values));
    }
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q4_K;

impl Blocks<144, 256> for Q4_K {
    const NAME: &'static str = "Q4_K";

    #[inline(always)]
    fn define(block: &[u8; 144], out: &mut [f32; 256]) {
        let (d, m) = (half_at(block, 0), half_at(block, 2));
        let [scales, minimums] = six_bits(&block[4..16]);
        for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let scale = d * f32::from(scales[group]);
            let minimum = m * f32::from(minimums[group]);
            let bytes = &block[16 + group / 2 * 32..][..32];
            let shift = group % 2 * 4;
            for (out, byte) in out.iter_mut().zip(bytes) {
                *out = scale * f32::from(byte >> shift & 15) - minimum;
            }
        }
    }

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 144], out: &mut [T; 256]) {
        isa.q4_k(block, six_bits(&block[4..16]), out, |values| Self::define(block, values));
    }
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q5_K;

impl Blocks<176, 256> for Q5_K {
    const NAME: &'static str = "Q5_K";

    #[inline(always)]
    fn define(block: &[u8; 176], out: &mut [f32; 256]) {
        let (d, m) = (half_at(block, 0), half_at(block, 2));
        let [scales, minimums] = six_bits(&block[4..16]);
        let fifths = &block[16..48];
        for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let scale = d * f32::from(scales[group]);
            let minimum = m * f32::from(minimums[group]);
            let bytes = &block[48 + group / 2 * 32..][..32];
            let shift = group % 2 * 4;
            for ((out, byte), fifth) in out.iter_mut().zip(bytes).zip(fifths) {
                let q = byte >> shift & 15 | (fifth >> group & 1) << 4;
                *out = scale * f32::from(q) - minimum;
            }
        }
    }

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 176], out: &mut [T; 256]) {
        isa.q5_k(block, six_bits(&block[4..16]), out, |values| Self::define(block, values));
    }
}
