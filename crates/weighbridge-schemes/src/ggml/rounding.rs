//! How encoders round, as ggml's C does.

use half::f16;

use crate::simd::Number;

/// The nearest whole number, the even one of two.
///
/// Beyond 2^22 it is what ggml makes of it: the lowest 23 bits of a sum.
#[inline(always)]
pub(super) fn nearest(value: f32) -> i32 {
    let bits = (value + 12_582_912.0).to_bits() & 0x007f_ffff;
    bits.cast_signed() - 0x0040_0000
}

/// The bytes of the nearest half-precision number.
#[inline(always)]
pub(super) fn half_bytes(value: f32) -> [u8; 2] {
    f16::narrow(value).to_le_bytes()
}

/// The largest magnitude; NaN if one of them is.
#[inline(always)]
pub(super) fn largest_magnitude(values: &[f32]) -> f32 {
    // Without their signs, numbers are in the order of their bits.
    f32::from_bits(values.iter().fold(0, |most, value| most.max(value.to_bits() & 0x7fff_ffff)))
}
