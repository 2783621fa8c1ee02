//! The numbers that kernels write, and the scalar conversions that define them.

use half::{bf16, f16};

use crate::number::Element;

/// A type of decoded numbers, as a kernel sees it.
pub trait Number: Element {
    /// Rounds to nearest even; NaN stays NaN.
    fn narrow(value: f32) -> Self;

    /// Rounds to this type, and back to f32.
    fn step(value: f32) -> f32;

    /// Fills an output through single precision; in place if the output has that type.
    fn through<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N]));
}

/// Half precision, given by its bits, widened exactly.
///
/// Every NaN becomes the plain quiet one, so that the results of arithmetic on it can be narrowed
/// without testing for NaN.
#[inline(always)]
pub fn half_to_f32(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff);
    let sign = u32::from(bits & 0x8000) << 16;
    // The fraction and exponent move to their places; the multiplication corrects the bias and
    // normalizes subnormal numbers, exactly.
    let finite = f32::from_bits(magnitude << 13) * f32::from_bits((254 - 15) << 23);
    let bounded = if magnitude < 0x7c00 { finite.to_bits() } else { f32::INFINITY.to_bits() };
    let value = if magnitude <= 0x7c00 { bounded } else { 0x7fc0_0000 };
    f32::from_bits(value | sign)
}

/// The bits of the nearest bfloat16, ties to even.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // The upper half is what is wanted.
fn bf16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let quiet = bits | 0x0040_0000;
    ((if value.is_nan() { quiet } else { rounded }) >> 16) as u16
}

/// The bits of the nearest half-precision number, ties to even; numbers too large become infinite.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // Sixteen bits are left by then.
fn f16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7fff_ffff);
    // Normal results: the bias changes by 112, and 13 bits are rounded away; a carry may run
    // into the exponent, up to infinity.
    let rebiased = magnitude.wrapping_sub(112 << 23);
    let normal = rebiased.wrapping_add(0xfff + (magnitude >> 13 & 1)) >> 13;
    // Subnormal results: adding 0.5 leaves the fraction in the lowest bits, rounded by the
    // addition itself.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    // Selections, not branches: the loops around this are compiled into vectors.
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let bounded = if magnitude < 0x4780_0000 { finite } else { 0x7c00 };
    let nan = 0x7e00 | magnitude >> 13 & 0x3ff;
    let narrowed = if magnitude <= 0x7f80_0000 { bounded } else { nan };
    (sign | narrowed) as u16
}

impl Number for f32 {
    #[inline(always)]
    fn narrow(value: f32) -> Self {
        value
    }

    #[inline(always)]
    fn step(value: f32) -> f32 {
        value
    }

    #[inline(always)]
    fn through<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N])) {
        fill(out);
    }
}

macro_rules! sixteen_bits {
    ($type:ty, $bits:ident, $widen:expr) => {
        impl Number for $type {
            #[inline(always)]
            fn narrow(value: f32) -> Self {
                Self::from_bits($bits(value))
            }

            #[inline(always)]
            fn step(value: f32) -> f32 {
                $widen($bits(value))
            }

            #[inline(always)]
            fn through<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N])) {
                let mut values = [0.0; N];
                fill(&mut values);
                for (o, value) in out.iter_mut().zip(values) {
                    *o = Self::narrow(value);
                }
            }
        }
    };
}

sixteen_bits!(bf16, bf16_bits, |bits| f32::from_bits(u32::from(bits) << 16));
sixteen_bits!(f16, f16_bits, half_to_f32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_widens_as_the_half_crate_says() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (half_to_f32(bits), f16::from_bits(bits).to_f32());
            assert!(ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan());
            assert!(!ours.is_nan() || ours.to_bits() & 0x7fff_ffff == 0x7fc0_0000);
        }
    }

    /// All upper halves with lower halves around every tie.
    #[test]
    fn narrowing_is_the_half_crates() {
        let lower = [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x7fff, 0x8000, 0x8001, 0xffff];
        for upper in 0..=u16::MAX {
            for low in lower {
                let value = f32::from_bits(u32::from(upper) << 16 | low);
                assert_eq!(bf16::narrow(value).to_bits(), bf16::from_f32(value).to_bits());
                assert_eq!(f16::narrow(value).to_bits(), f16::from_f32(value).to_bits());
            }
        }
    }
}
