//! The 8-bit floating-point types, widened to f32 exactly.
//!
//! | type | exponent bits, bias | special values |
//! |---|---|---|
//! | E4M3 (`fn`) | 4, 7 | no infinity; `x1111111` is NaN |
//! | E5M2 | 5, 15 | as IEEE half precision with a shorter fraction |
//! | E4M3 FNUZ | 4, 8 | no infinity, no negative zero; `0x80` is NaN |
//! | E5M2 FNUZ | 5, 16 | the same |
//! | E8M0 | 8, 127 | powers of two only, no zero; `0xff` is NaN |

use half::f16;

pub(super) fn e4m3(byte: u8) -> f32 {
    if byte & 0x7f == 0x7f {
        return f32::NAN.copysign(if byte & 0x80 == 0 { 1.0 } else { -1.0 });
    }
    finite(byte, 3, 7)
}

pub(super) fn e5m2(byte: u8) -> f32 {
    f16::from_bits(u16::from(byte) << 8).to_f32()
}

pub(super) fn e4m3fnuz(byte: u8) -> f32 {
    if byte == 0x80 { f32::NAN } else { finite(byte, 3, 8) }
}

pub(super) fn e5m2fnuz(byte: u8) -> f32 {
    if byte == 0x80 { f32::NAN } else { finite(byte, 2, 16) }
}

pub(super) fn e8m0(byte: u8) -> f32 {
    match byte {
        0 => f32::from_bits(0x0040_0000),
        0xff => f32::NAN,
        exponent => f32::from_bits(u32::from(exponent) << 23),
    }
}

/// Sign, exponent and fraction without special values.
fn finite(byte: u8, fraction_bits: u32, bias: i32) -> f32 {
    let fraction = u32::from(byte) & ((1 << fraction_bits) - 1);
    let exponent = (u32::from(byte) & 0x7f) >> fraction_bits;
    let steps = if exponent == 0 { fraction } else { fraction | 1 << fraction_bits };
    let power = exponent.max(1).cast_signed() - bias - fraction_bits.cast_signed();
    // Exact: at most four significant bits, and the power is far from single precision's ends.
    #[allow(clippy::cast_precision_loss)]
    let magnitude = steps as f32 * 2f32.powi(power);
    if byte & 0x80 == 0 { magnitude } else { -magnitude }
}
