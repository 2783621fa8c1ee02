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

use super::kernel::{Blocks, Kernel, half_at, kernel};
use crate::simd::{Isa, Number};

pub(super) static KERNELS: &[Kernel] =
    &[kernel::<Q3_K, 110, 256>(), kernel::<Q6_K, 210, 256>(), kernel::<Q8_K, 292, 256>()];

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

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 110], out: &mut [T; 256]) {
        isa.q3_k(block, six_bits(&block[96..108]), out, |values| Self::define(block, values));
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

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 210], out: &mut [T; 256]) {
        isa.q6_k(block, out, |values| Self::define(block, values));
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

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 292], out: &mut [T; 256]) {
        isa.q8_k(block, single_at(block), out, |values| Self::define(block, values));
    }
}
