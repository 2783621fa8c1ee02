//! One or two bits a weight, and one scale.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | Q1_0 | f16 `d`; 128 bits | d where the bit is set, else -d |
//! | Q2_0 | f16 `d`; 64 times 2 bits | (q - 1) d |
//!
//! The lowest bits of a byte come first.

use super::kernel::{Blocks, Kernel, half_at, kernel};
use crate::simd::{Isa, Number};

pub(super) static KERNELS: &[Kernel] = &[kernel::<Q1_0, 18, 128>(), kernel::<Q2_0, 18, 64>()];

struct Q1_0;

impl Blocks<18, 128> for Q1_0 {
    const NAME: &'static str = "Q1_0";

    #[inline(always)]
    fn define(block: &[u8; 18], out: &mut [f32; 128]) {
        let d = half_at(block, 0);
        for (byte, out) in block[2..].iter().zip(out.as_chunks_mut::<8>().0) {
            for (bit, out) in out.iter_mut().enumerate() {
                *out = if byte >> bit & 1 == 1 { d } else { -d };
            }
        }
    }

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 18], out: &mut [T; 128]) {
        isa.q1_0(block, out, |values| Self::define(block, values));
    }
}

struct Q2_0;

impl Blocks<18, 64> for Q2_0 {
    const NAME: &'static str = "Q2_0";

    #[inline(always)]
    fn define(block: &[u8; 18], out: &mut [f32; 64]) {
        let d = half_at(block, 0);
        for (byte, out) in block[2..].iter().zip(out.as_chunks_mut::<4>().0) {
            for (index, out) in out.iter_mut().enumerate() {
                *out = f32::from((byte >> (2 * index) & 3).cast_signed() - 1) * d;
            }
        }
    }

    #[inline(always)]
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; 18], out: &mut [T; 64]) {
        isa.q2_0(block, out, |values| Self::define(block, values));
    }
}
