//! The 8-bit floating-point types, widened to f32 exactly.
//!
//! | type | exponent bits, bias | special values |
//! |---|---|---|
//! | E4M3 (`fn`) | 4, 7 | no infinity; `x1111111` is NaN |
//! | E5M2 | 5, 15 | as IEEE half precision with a shorter fraction |
//! | E4M3 FNUZ | 4, 8 | no infinity, no negative zero; `0x80` is NaN |
//! | E5M2 FNUZ | 5, 16 | no infinity, no negative zero; `0x80` is NaN |
//! | E8M0 | 8, 127 | powers of two only, no zero; `0xff` is NaN |

use crate::simd::half_to_f32;

// Selections, not branches: the loops around these are compiled into vectors.

/// E4M3 without infinities.
#[inline(always)]
pub fn e4m3(byte: u8) -> f32 {
    let nan = f32::NAN.copysign(if byte & 0x80 == 0 { 1.0 } else { -1.0 });
    if byte & 0x7f == 0x7f { nan } else { finite(byte, 3, 7) }
}

/// E5M2.
#[inline(always)]
pub fn e5m2(byte: u8) -> f32 {
    half_to_f32(u16::from(byte) << 8)
}

/// E4M3 FNUZ.
#[inline(always)]
pub fn e4m3fnuz(byte: u8) -> f32 {
    if byte == 0x80 { f32::NAN } else { finite(byte, 3, 8) }
}

/// E5M2 FNUZ.
#[inline(always)]
pub fn e5m2fnuz(byte: u8) -> f32 {
    if byte == 0x80 { f32::NAN } else { finite(byte, 2, 16) }
}

/// E8M0, a power of two.
#[inline(always)]
pub fn e8m0(byte: u8) -> f32 {
    let power = f32::from_bits(u32::from(byte) << 23);
    let bounded = if byte == 0 { f32::from_bits(0x0040_0000) } else { power };
    if byte == 0xff { f32::NAN } else { bounded }
}

/// Sign, exponent and fraction without special values.
#[inline(always)]
fn finite(byte: u8, fraction_bits: u32, bias: u32) -> f32 {
    // The bits move to their places in single precision; the multiplication corrects the bias
    // and normalizes subnormal numbers, exactly.
    let moved = f32::from_bits(u32::from(byte & 0x7f) << (23 - fraction_bits));
    let magnitude = moved * f32::from_bits((127 + 127 - bias) << 23);
    f32::from_bits(magnitude.to_bits() | u32::from(byte & 0x80) << 24)
}
