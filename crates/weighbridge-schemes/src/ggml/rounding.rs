//! How encoders round, as ggml's C does.

use half::f16;

use crate::simd::Number;

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
