//! Weights of -1, 0 and 1 times one scale.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | TQ1_0 | 32, 16 and 4 bytes of base-3 digits; f16 `d` | (digit - 1) d |
//! | TQ2_0 | twice 32 bytes of 2-bit numbers; f16 `d` | (q - 1) d |
//!
//! A run of bytes holds as many elements for its first digits, then as many for its second
//! digits, and so on: five digits a byte, four in the last 4 bytes. A byte is a fraction of 256
//! whose base-3 digits follow the point: three times it has the first digit above its eight bits
//! and the remaining ones below. In TQ2_0 a run of 32 bytes holds 32 elements in its lowest two
//! bits, 32 in the next two, and so on; nothing writes the number 3, which reads as 2.

use super::kernel::{Blocks, Kernel, half_at, kernel};
use crate::simd::{Isa, Number};

pub(super) static KERNELS: &[Kernel] = &[kernel::<Tq1_0, 54, 256>(), kernel::<Tq2_0, 66, 256>()];

/// Where the runs of a TQ1_0 block start: in the block, and among the elements.
const SECOND: (usize, usize) = (32, 160);
const THIRD: (usize, usize) = (48, 240);

/// A run of bytes: their first digits, their second digits, and so on.
#[inline(always)]
fn digits_times_scale<const BYTES: usize>(run: &[u8], scale: f32, out: &mut [f32]) {
    let mut rest: [u8; BYTES] = run.as_chunks().0[0];
    for out in out.as_chunks_mut::<BYTES>().0 {
        for (out, rest) in out.iter_mut().zip(&mut rest) {
            let digit = (u16::from(*rest) * 3) >> 8;
            *out = f32::from(digit.cast_signed() - 1) * scale;
            *rest = rest.wrapping_mul(3);
        }
    }
}

struct Tq1_0;

impl Blocks<54, 256> for Tq1_0 {
    const NAME: &'static str = "TQ1_0";

    #[inline(always)]
    fn define(block: &[u8; 54], out: &mut [f32; 256]) {
        let d = half_at(block, 52);
        digits_times_scale::<32>(block, d, &mut out[..SECOND.1]);
        digits_times_scale::<16>(&block[SECOND.0..], d, &mut out[SECOND.1..THIRD.1]);
        digits_times_scale::<4>(&block[THIRD.0..], d, &mut out[THIRD.1..]);
    }

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 54], out: &mut [T; 256]) {
        isa.tq1_0(block, out, |values| Self::define(block, values));
    }
}

struct Tq2_0;

impl Blocks<66, 256> for Tq2_0 {
    const NAME: &'static str = "TQ2_0";

    #[inline(always)]
    fn define(block: &[u8; 66], out: &mut [f32; 256]) {
        let d = half_at(block, 64);
        for (run, out) in block.as_chunks::<32>().0.iter().zip(out.as_chunks_mut::<128>().0) {
            for (shift, out) in [0, 2, 4, 6].into_iter().zip(out.as_chunks_mut::<32>().0) {
                for (out, byte) in out.iter_mut().zip(run) {
                    *out = f32::from((byte >> shift & 3).cast_signed() - 1) * d;
                }
            }
        }
    }

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 66], out: &mut [T; 256]) {
        isa.tq2_0(block, out, |values| Self::define(block, values));
    }
}
