//! K types whose values lie around zero: blocks of 256, cut into groups of 16 that have a signed
//! scale of their own, a small integer times one number of the block. (Q8_K has that number only.)
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | Q3_K | 32 of third bits, 64 of `q`, 12 of scales; f16 `d` | (d (scale - 32)) (q - 4) |
//! | Q6_K | 128 of `ql`, 64 of `qh`, 16 signed scales; f16 `d` | (d scale) (q - 32) |
//! | Q8_K | f32 `d`; 256 signed bytes, 16 sums of them as i16 | d q |
//!
//! Q3_K: 32 bytes of `q` hold the lower two bits of 128 elements: the lowest two bits of each the
//! first 32, the highest two the last 32. Bit `n` of third-bit byte `i` belongs to element
//! `32 n + i`. The 12 bytes hold sixteen scales of six bits:
//!
//! ```text
//! byte  0 .. 7    lower four bits of scale 0 .. 7, above them those of scale 8 .. 15
//!       8 .. 11   upper two bits of scale 0 .. 3, above them those of 4 .. 7, 8 .. 11, 12 .. 15
//! ```
//!
//! Q6_K: 64 bytes of `ql` hold the lower four bits of 128 elements, the low nibbles the first 64;
//! 32 bytes of `qh` hold their upper two, in the manner of Q3_K.

use super::encoding::k::{ByGroups, Found, Grouped};
use super::kernel::{Blocks, Kernel, coder, decoded_by, half_at, kernel};
use super::search::side_by_side::eight;
use super::search::{
    Group, NOTHING, farthest, half, low_byte, nearest, signed, squared, swept, truncated,
};
use crate::simd::Isa;
use crate::simd::vector::{LANES, Mask, Parallel, Vector};

pub(super) static KERNELS: &[Kernel] = &[
    coder::<Q3_K, ByGroups<16, 16>, 110, 256>(),
    coder::<Q6_K, ByGroups<16, 16>, 210, 256>(),
    kernel::<Q8_K, 292, 256>(),
];

/// The sixteen scales in twelve bytes, not yet signed.
#[inline(always)]
pub(super) fn six_bits(bytes: &[u8]) -> [u8; 16] {
    let mut scales = [0; 16];
    for (index, scale) in scales.iter_mut().enumerate() {
        let lower = bytes[index % 8] >> (index / 8 * 4) & 15;
        let upper = bytes[8 + index % 4] >> (index / 4 * 2) & 3;
        *scale = lower | upper << 4;
    }
    scales
}

/// The twelve bytes of sixteen scales.
#[inline(always)]
fn put_six_bits(bytes: &mut [u8], scales: [u8; 16]) {
    bytes.fill(0);
    for (index, scale) in scales.into_iter().enumerate() {
        bytes[index % 8] |= (scale & 15) << (index / 8 * 4);
        bytes[8 + index % 4] |= scale >> 4 << (index / 4 * 2);
    }
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q3_K;

impl Blocks<110, 256> for Q3_K {
    const NAME: &'static str = "Q3_K";

    #[inline(always)]
    fn define(block: &[u8; 110], out: &mut [f32; 256]) {
        let d = half_at(block, 108);
        let scales = six_bits(&block[96..108]);
        for (group, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let scale = d * (f32::from(scales[group]) - 32.0);
            let bytes = &block[32 + group / 8 * 32 + group % 2 * 16..][..16];
            let thirds = &block[group % 2 * 16..][..16];
            let shift = group / 2 % 4 * 2;
            for ((out, byte), third) in out.iter_mut().zip(bytes).zip(thirds) {
                let q = byte >> shift & 3 | (third >> (group / 2) & 1) << 2;
                *out = scale * (f32::from(q) - 4.0);
            }
        }
    }

    decoded_by!(110 => 256: q3_k(block, six_bits(&block[96..108])));
}

impl Grouped<110, 16, 16> for Q3_K {
    const CODES: [i8; 2] = [-4, 3];
    const VARIANCES: Option<f32> = Some(2.0);

    fn define_group(values: &[f32; 16], weights: Option<&[f32; 16]>) -> Group<16> {
        match weights {
            Some(weights) => signed::define(4, values, weights),
            None => swept::define(4, values),
        }
    }

    #[cfg(test)]
    fn define_scales(
        block: &mut [u8; 110],
        found: &[Group<16>; 16],
        weights: Option<[f32; 16]>,
    ) -> bool {
        let scales = std::array::from_fn(|at| found[at].scale);
        let found = match weights {
            Some(weights) => signed::define(32, &scales, &weights),
            None => Self::by_farthest(&scales),
        };
        Self::put_found(block, &found);
        true
    }

    #[inline(always)]
    fn groups_in_lanes<P: Parallel>(
        values: &[P; 16],
        weights: Option<&[P; 16]>,
    ) -> (P, P, P::Mask) {
        let (scale, left) = match weights {
            Some(weights) => {
                let found = signed::in_lanes(4.0, values, weights);
                (found.scale, found.left)
            }
            None => swept::in_lanes(4.0, values),
        };
        (scale, scale.same(0.0), left)
    }

    #[inline(always)]
    fn put_scales<I: Isa>(isa: I, found: &Found, out: &mut [[u8; 110]]) -> u8 {
        let scales = found.scales.as_chunks().0;
        let Some(weights) = &found.weights else {
            for (block, scales) in out.iter_mut().zip(scales) {
                Self::put_found(block, &Self::by_farthest(scales));
            }
            return 0;
        };
        let fitted = Self::fit_eight(isa, scales, weights.as_chunks().0);
        for (block, found) in out.iter_mut().zip(&fitted) {
            Self::put_found(block, found);
        }
        0
    }

    #[inline(always)]
    fn steps(block: &[u8; 110]) -> [(f32, f32); 16] {
        let d = half_at(block, 108);
        six_bits(&block[96..108]).map(|scale| (d * (f32::from(scale) - 32.0), 0.0))
    }

    #[inline(always)]
    fn put_codes(block: &mut [u8; 110], codes: &[u8; 256]) {
        let parts = codes.as_chunks::<32>().0;
        block[..32].fill(0);
        for (part, codes) in parts.iter().enumerate() {
            for at in 0..32 {
                block[at] |= codes[at] >> 2 << part;
            }
        }
        for (bytes, quarters) in block[32..96].chunks_exact_mut(32).zip(parts.as_chunks::<4>().0) {
            let [a, b, c, d] = quarters;
            for at in 0..32 {
                let pairs = a[at] & 3 | (b[at] & 3) << 2;
                bytes[at] = pairs | (c[at] & 3) << 4 | d[at] << 6;
            }
        }
    }
}

impl Q3_K {
    /// The scales of eight blocks, as importance asks.
    #[inline(always)]
    fn fit_eight<I: Isa>(
        isa: I,
        scales: &[[f32; 16]],
        weights: &[[f32; 16]],
    ) -> [Group<16>; LANES] {
        let values = eight(isa, scales);
        let found = signed::in_lanes(32.0, &values, &eight(isa, weights));
        let (scale, left, empty) = (found.scale.lanes(), found.left.bits(), found.empty.bits());
        let mut levels = [[0.0; LANES]; 16];
        for (levels, &value) in levels.iter_mut().zip(&values) {
            *levels = (found.inverse * value).round().lanes();
        }
        std::array::from_fn(|block| {
            let is = |mask: u8| mask & 1 << block != 0;
            let code = |at: usize| low_byte(truncated(levels[at][block].clamp(-32.0, 31.0)) + 32);
            match (is(left), is(empty)) {
                (true, _) => signed::define(32, &scales[block], &weights[block]),
                (_, true) => Group { scale: 0.0, below: 0.0, codes: [0; 16] },
                _ => Group { scale: scale[block], below: 0.0, codes: std::array::from_fn(code) },
            }
        })
    }

    /// Scales as parts of the one farthest from zero.
    #[inline(always)]
    fn by_farthest(scales: &[f32; 16]) -> Group<16> {
        let (_, of) = farthest(scales);
        if of == 0.0 {
            return Group { scale: 0.0, below: 0.0, codes: [0; 16] };
        }
        let inverse = -32.0 / of;
        let part = |scale: f32| low_byte(nearest(inverse * scale)).cast_signed().clamp(-32, 31);
        let codes = scales.map(|scale| (part(scale) + 32).cast_unsigned());
        Group { scale: 1.0 / inverse, below: 0.0, codes }
    }

    /// Stores the scale of a block and those of its groups.
    #[inline(always)]
    fn put_found(block: &mut [u8; 110], found: &Group<16>) {
        put_six_bits(&mut block[96..108], found.codes);
        block[108..].copy_from_slice(&half(found.scale).to_le_bytes());
    }
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q6_K;

impl Blocks<210, 256> for Q6_K {
    const NAME: &'static str = "Q6_K";

    #[inline(always)]
    fn define(block: &[u8; 210], out: &mut [f32; 256]) {
        let d = half_at(block, 208);
        for (group, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let scale = d * f32::from(block[192 + group].cast_signed());
            let lower = &block[group / 8 * 64 + group % 4 * 16..][..16];
            let upper = &block[128 + group / 8 * 32 + group % 2 * 16..][..16];
            let (nibble, pair) = (group / 4 % 2 * 4, group / 2 % 4 * 2);
            for ((out, lower), upper) in out.iter_mut().zip(lower).zip(upper) {
                let q = lower >> nibble & 15 | (upper >> pair & 3) << 4;
                *out = scale * (f32::from(q) - 32.0);
            }
        }
    }

    decoded_by!(210 => 256: q6_k(block));
}

impl Grouped<210, 16, 16> for Q6_K {
    const CODES: [i8; 2] = [-32, 31];
    const VARIANCES: Option<f32> = None;

    fn define_group(values: &[f32; 16], weights: Option<&[f32; 16]>) -> Group<16> {
        match weights {
            Some(weights) => signed::define(32, values, weights),
            None => signed::define(32, values, &values.map(|value| value * value)),
        }
    }

    #[cfg(test)]
    fn define_scales(block: &mut [u8; 210], found: &[Group<16>; 16], _: Option<[f32; 16]>) -> bool {
        Self::put_block_scales(block, &std::array::from_fn(|at| found[at].scale))
    }

    #[inline(always)]
    fn groups_in_lanes<P: Parallel>(
        values: &[P; 16],
        weights: Option<&[P; 16]>,
    ) -> (P, P, P::Mask) {
        let found = match weights {
            Some(weights) => signed::in_lanes(32.0, values, weights),
            None => signed::in_lanes(32.0, values, &squared(values)),
        };
        (found.scale, found.min, found.left)
    }

    #[inline(always)]
    fn put_scales<I: Isa>(_: I, found: &Found, out: &mut [[u8; 210]]) -> u8 {
        let mut empty = 0;
        for (at, (block, scales)) in out.iter_mut().zip(found.scales.as_chunks().0).enumerate() {
            empty |= u8::from(!Self::put_block_scales(block, scales)) << at;
        }
        empty
    }

    #[inline(always)]
    fn steps(block: &[u8; 210]) -> [(f32, f32); 16] {
        let d = half_at(block, 208);
        std::array::from_fn(|group| (d * f32::from(block[192 + group].cast_signed()), 0.0))
    }

    #[inline(always)]
    fn put_codes(block: &mut [u8; 210], codes: &[u8; 256]) {
        let (lower, upper) = block[..192].split_at_mut(128);
        let quarters = codes.as_chunks::<32>().0.as_chunks::<4>().0;
        let bytes = lower.chunks_exact_mut(64).zip(upper.chunks_exact_mut(32));
        for ((lower, upper), quarters) in bytes.zip(quarters) {
            let [a, b, c, d] = quarters;
            for at in 0..32 {
                lower[at] = a[at] & 15 | c[at] << 4;
                lower[at + 32] = b[at] & 15 | d[at] << 4;
                upper[at] = a[at] >> 4 | b[at] >> 4 << 2 | c[at] >> 4 << 4 | d[at] >> 4 << 6;
            }
        }
    }
}

impl Q6_K {
    /// Stores the scale of a block and those of its groups. Returns false if there are none.
    #[inline(always)]
    fn put_block_scales(block: &mut [u8; 210], scales: &[f32; 16]) -> bool {
        let (size, of) = farthest(scales);
        if size < NOTHING {
            return false;
        }
        let inverse = -128.0 / of;
        block[208..].copy_from_slice(&half(1.0 / inverse).to_le_bytes());
        for (byte, scale) in block[192..208].iter_mut().zip(scales) {
            *byte = low_byte(nearest(inverse * scale).min(127));
        }
        true
    }
}

#[allow(non_camel_case_types)] // ggml's name.
struct Q8_K;

/// The block's scale; any NaN becomes the quiet one, as in `half_at`.
#[inline(always)]
fn single_at(block: &[u8; 292]) -> f32 {
    let d = f32::from_le_bytes([block[0], block[1], block[2], block[3]]);
    if d.is_nan() { f32::NAN } else { d }
}

impl Blocks<292, 256> for Q8_K {
    const NAME: &'static str = "Q8_K";

    #[inline(always)]
    fn define(block: &[u8; 292], out: &mut [f32; 256]) {
        let d = single_at(block);
        for (out, byte) in out.iter_mut().zip(&block[4..260]) {
            *out = d * f32::from(byte.cast_signed());
        }
    }

    decoded_by!(292 => 256: q8_k(block, single_at(block)));
}
