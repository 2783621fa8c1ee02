//! One or two bits a weight, and one scale.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | Q1_0 | f16 `d`; 128 bits | d where the bit is set, else -d |
//! | Q2_0 | f16 `d`; 64 times 2 bits | (q - 1) d |
//!
//! The lowest bits of a byte come first.
//!
//! Encoding: `d` of Q1_0 is the mean of the magnitudes, and the bit of 0 is set; `d` of Q2_0 is the
//! largest magnitude, and numbers times 1 / d are rounded half away from zero, so none becomes 3.

use super::kernel::{Blocks, Encodes, Kernel, Rows, coder, decoded_by, half_at};
use super::rounding::half_bytes;
use crate::simd::Isa;

pub(super) static KERNELS: &[Kernel] =
    &[coder::<Q1_0, Q1_0, 18, 128>(), coder::<Q2_0, Q2_0, 18, 64>()];

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

    decoded_by!(18 => 128: q1_0(block));
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

    decoded_by!(18 => 64: q2_0(block));
}

impl Encodes<Self, 18, 128> for Q1_0 {
    #[inline(always)]
    fn encode<I: Isa>(_: I, rows: Rows<'_>, out: &mut [[u8; 18]]) {
        for (values, out) in rows.values.as_chunks::<128>().0.iter().zip(out) {
            let sum = values.iter().fold(0.0, |sum, value| sum + value.abs());
            out[..2].copy_from_slice(&half_bytes(sum / 128.0));
            for (values, byte) in values.as_chunks::<8>().0.iter().zip(&mut out[2..]) {
                *byte = (0..8).fold(0, |byte, bit| byte | u8::from(values[bit] >= 0.0) << bit);
            }
        }
    }
}

impl Encodes<Self, 18, 64> for Q2_0 {
    #[inline(always)]
    fn encode<I: Isa>(_: I, rows: Rows<'_>, out: &mut [[u8; 18]]) {
        for (values, out) in rows.values.as_chunks::<64>().0.iter().zip(out) {
            // The bits of magnitudes are in their order; NaN is passed over.
            let bits = values.map(|value| value.to_bits() & 0x7fff_ffff);
            let most = bits.iter().fold(0, |most, &bits| {
                if bits > f32::INFINITY.to_bits() { most } else { bits.max(most) }
            });
            let d = f32::from_bits(most);
            let inverse = if d > 0.0 { 1.0 / d } else { 0.0 };
            let digits = values.map(|value| q2_0_digit(value * inverse));
            out[..2].copy_from_slice(&half_bytes(d));
            for (digits, byte) in digits.as_chunks::<4>().0.iter().zip(&mut out[2..]) {
                *byte = (0..4).fold(0, |byte, at| byte | digits[at] << (2 * at));
            }
        }
    }
}

/// -1, 0 or 1, plus one. What no integer holds is the least.
#[inline(always)]
fn q2_0_digit(value: f32) -> u8 {
    let is_number = value.abs() < f32::INFINITY;
    u8::from(is_number & (value > -0.5)) + u8::from(is_number & (value >= 0.5))
}
