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

use super::encoding::k::ByGroups;
use super::encoding::k_minimum::WithMinimums;
use super::kernel::{Blocks, Kernel, coder, decoded_by, half_at};
use super::search::minimum::Trials;
use super::search::squares;
use crate::simd::vector::Parallel;

pub(super) static KERNELS: &[Kernel] = &[
    coder::<Q2_K, ByGroups<16, 16>, 84, 256>(),
    coder::<Q4_K, ByGroups<32, 8>, 144, 256>(),
    coder::<Q5_K, ByGroups<32, 8>, 176, 256>(),
];

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

/// The twelve bytes of eight scales and eight minimums. What has more than six bits runs into its
/// neighbour.
#[inline(always)]
fn put_six_bits(bytes: &mut [u8], [scales, minimums]: [[u8; 8]; 2]) {
    for group in 0..4 {
        let (scale, minimum) = (scales[group + 4], minimums[group + 4]);
        bytes[group] = scales[group] | scale >> 4 << 6;
        bytes[group + 4] = minimums[group] | minimum >> 4 << 6;
        bytes[group + 8] = scale & 15 | minimum << 4;
    }
}

/// Without importance, small numbers matter less.
#[inline(always)]
fn mean_and_size(values: &[f32; 32]) -> [f32; 32] {
    let mean = (squares(values) / 32.0).sqrt();
    values.map(|value| mean + value.abs())
}

/// The vector form, one group per lane.
#[inline(always)]
fn mean_and_size_in_lanes<P: Parallel>(values: &[P; 32]) -> [P; 32] {
    let mut squares = values[0].same(0.0);
    for &value in values {
        squares = squares + value * value;
    }
    let mean = (squares / squares.same(32.0)).sqrt();
    let mut weights = *values;
    for weight in &mut weights {
        *weight = mean + weight.abs();
    }
    weights
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

    decoded_by!(84 => 256: q2_k(block));
}

impl WithMinimums<84, 16, 16> for Q2_K {
    const TRIALS: Trials = Trials { most: 3, first: -0.5, by: 0.1, last: 15, plain_errors: true };
    const LARGEST: u8 = 15;
    const CUT: [u8; 2] = [255; 2];
    const VARIANCES: f32 = 1.0;
    const SCALES_AT: usize = 80;

    #[inline(always)]
    fn weights(values: &[f32; 16]) -> [f32; 16] {
        values.map(f32::abs)
    }

    #[inline(always)]
    fn weights_in_lanes<P: Parallel>(values: &[P; 16]) -> [P; 16] {
        let mut weights = *values;
        for weight in &mut weights {
            *weight = weight.abs();
        }
        weights
    }

    #[inline(always)]
    fn put_levels(block: &mut [u8; 84], levels: [[u8; 16]; 2]) {
        let [scales, minimums] = levels;
        for ((byte, scale), minimum) in block.iter_mut().zip(scales).zip(minimums) {
            *byte = scale | minimum << 4;
        }
    }

    #[inline(always)]
    fn levels(block: &[u8; 84]) -> [[u8; 16]; 2] {
        [0, 4].map(|shift| std::array::from_fn(|group| block[group] >> shift & 15))
    }

    #[inline(always)]
    fn put_codes(block: &mut [u8; 84], codes: &[u8; 256]) {
        let quarters = codes.as_chunks::<32>().0.as_chunks::<4>().0;
        for (bytes, quarters) in block[16..80].chunks_exact_mut(32).zip(quarters) {
            let [a, b, c, d] = quarters;
            for at in 0..32 {
                bytes[at] = a[at] | b[at] << 2 | c[at] << 4 | d[at] << 6;
            }
        }
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

    decoded_by!(144 => 256: q4_k(block, six_bits(&block[4..16])));
}

impl WithMinimums<144, 32, 8> for Q4_K {
    const TRIALS: Trials = Trials { most: 15, first: -1.0, by: 0.1, last: 20, plain_errors: false };
    const LARGEST: u8 = 63;
    const CUT: [u8; 2] = [63, 255];
    const VARIANCES: f32 = 2.0;
    const SCALES_AT: usize = 0;

    #[inline(always)]
    fn weights(values: &[f32; 32]) -> [f32; 32] {
        mean_and_size(values)
    }

    #[inline(always)]
    fn weights_in_lanes<P: Parallel>(values: &[P; 32]) -> [P; 32] {
        mean_and_size_in_lanes(values)
    }

    #[inline(always)]
    fn put_levels(block: &mut [u8; 144], levels: [[u8; 8]; 2]) {
        put_six_bits(&mut block[4..16], levels);
    }

    #[inline(always)]
    fn levels(block: &[u8; 144]) -> [[u8; 8]; 2] {
        six_bits(&block[4..16])
    }

    #[inline(always)]
    fn put_codes(block: &mut [u8; 144], codes: &[u8; 256]) {
        let halves = codes.as_chunks::<32>().0.as_chunks::<2>().0;
        for (bytes, [low, high]) in block[16..].chunks_exact_mut(32).zip(halves) {
            for ((byte, low), high) in bytes.iter_mut().zip(low).zip(high) {
                *byte = low | high << 4;
            }
        }
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

    decoded_by!(176 => 256: q5_k(block, six_bits(&block[4..16])));
}

impl WithMinimums<176, 32, 8> for Q5_K {
    const TRIALS: Trials = Trials { most: 31, first: -0.5, by: 0.1, last: 15, plain_errors: false };
    const LARGEST: u8 = 63;
    const CUT: [u8; 2] = [63; 2];
    const VARIANCES: f32 = 2.0;
    const SCALES_AT: usize = 0;

    #[inline(always)]
    fn weights(values: &[f32; 32]) -> [f32; 32] {
        mean_and_size(values)
    }

    #[inline(always)]
    fn weights_in_lanes<P: Parallel>(values: &[P; 32]) -> [P; 32] {
        mean_and_size_in_lanes(values)
    }

    #[inline(always)]
    fn put_levels(block: &mut [u8; 176], levels: [[u8; 8]; 2]) {
        put_six_bits(&mut block[4..16], levels);
    }

    #[inline(always)]
    fn levels(block: &[u8; 176]) -> [[u8; 8]; 2] {
        six_bits(&block[4..16])
    }

    #[inline(always)]
    fn put_codes(block: &mut [u8; 176], codes: &[u8; 256]) {
        let (fifths, nibbles) = block[16..].split_at_mut(32);
        fifths.fill(0);
        let halves = codes.as_chunks::<32>().0.as_chunks::<2>().0;
        for (pair, (bytes, [low, high])) in nibbles.chunks_exact_mut(32).zip(halves).enumerate() {
            for at in 0..32 {
                bytes[at] = low[at] & 15 | high[at] << 4;
                fifths[at] |= (low[at] >> 4 | high[at] >> 4 << 1) << (2 * pair);
            }
        }
    }
}
