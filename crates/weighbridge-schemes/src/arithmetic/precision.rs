//! Arithmetic in the type of a weight, as in the Python libraries: every operation in single
//! precision, with its result rounded to that type.

use crate::dtype::DType;
use crate::simd::half_to_f32;

/// A type that numbers are rounded to after every operation.
pub(crate) trait Precision: Copy + Default + Send + Sync + 'static {
    /// The type.
    const DTYPE: DType;
    /// Distance from one to the next larger number.
    const EPSILON: f32;
    /// Smallest normal number.
    const TINY: f32;
    /// Bits of the fraction.
    const FRACTION: u32;

    /// Rounds to the nearest number of the type, ties to even.
    fn round(value: f32) -> f32;

    /// Rounds a value that is not NaN.
    #[inline(always)]
    fn round_number(value: f32) -> f32 {
        Self::round(value)
    }

    /// Returns the bits of a number of the type, in the low bits.
    fn bits(value: f32) -> u32;

    /// Reads a number of the type, in little-endian order.
    fn read(bytes: &[u8]) -> f32 {
        let mut bits = [0; 4];
        bits.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
        let bits = u32::from_le_bytes(bits);
        match Self::DTYPE {
            DType::BF16 => f32::from_bits(bits << 16),
            DType::F16 => half_to_f32((bits & 0xffff).try_into().unwrap_or(0)),
            _ => f32::from_bits(bits),
        }
    }

    /// Writes a number of the type in little-endian order.
    #[inline(always)]
    fn write(value: f32, to: &mut [u8]) {
        let bytes = Self::bits(value).to_le_bytes();
        to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
    }
}

/// Returns the bytes per number.
pub(crate) fn width(dtype: DType) -> u64 {
    u64::from(dtype.bits() / 8)
}

/// Single precision.
#[derive(Clone, Copy, Default)]
pub(crate) struct Single;

impl Precision for Single {
    const DTYPE: DType = DType::F32;
    const EPSILON: f32 = f32::EPSILON;
    const TINY: f32 = f32::MIN_POSITIVE;
    const FRACTION: u32 = 23;

    #[inline(always)]
    fn round(value: f32) -> f32 {
        value
    }

    #[inline(always)]
    fn bits(value: f32) -> u32 {
        value.to_bits()
    }
}

/// bfloat16.
#[derive(Clone, Copy, Default)]
pub(crate) struct Brain;

impl Precision for Brain {
    const DTYPE: DType = DType::BF16;
    const EPSILON: f32 = 0.007_812_5;
    const TINY: f32 = f32::MIN_POSITIVE;
    const FRACTION: u32 = 7;

    #[inline(always)]
    fn round(value: f32) -> f32 {
        let is_nan = value.to_bits() & 0x7fff_ffff > 0x7f80_0000;
        if is_nan { f32::NAN.copysign(value) } else { Self::round_number(value) }
    }

    #[inline(always)]
    fn round_number(value: f32) -> f32 {
        let bits = value.to_bits();
        f32::from_bits(bits.wrapping_add(0x7fff + (bits >> 16 & 1)) & 0xffff_0000)
    }

    #[inline(always)]
    fn bits(value: f32) -> u32 {
        value.to_bits() >> 16
    }
}

/// IEEE half precision.
#[derive(Clone, Copy, Default)]
pub(crate) struct Half;

impl Precision for Half {
    const DTYPE: DType = DType::F16;
    const EPSILON: f32 = 0.000_976_562_5;
    const TINY: f32 = 1.0 / 16384.0;
    const FRACTION: u32 = 10;

    #[inline(always)]
    fn round(value: f32) -> f32 {
        if value.is_nan() { f32::NAN } else { Self::round_number(value) }
    }

    #[inline(always)]
    fn round_number(value: f32) -> f32 {
        let magnitude = value.abs();
        let bits = magnitude.to_bits();
        let normal = f32::from_bits(bits.wrapping_add(0xfff + (bits >> 13 & 1)) & 0xffff_e000);
        let bounded = if magnitude >= 65520.0 { f32::INFINITY } else { normal };
        // Subnormal numbers are multiples of 2^-24, which is the step of single precision here.
        let subnormal = (magnitude + 0.5) - 0.5;
        let rounded = if magnitude < Self::TINY { subnormal } else { bounded };
        rounded.copysign(value)
    }

    #[inline(always)]
    fn bits(value: f32) -> u32 {
        half::f16::from_f32(value).to_bits().into()
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn rounds_as_the_half_crate_does() {
        let uppers = (0..=u16::MAX).step_by(11).chain([0x7f80, 0x7fff, 0xff80, 0x477f, 0x3380]);
        for upper in uppers {
            for low in [0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let value = f32::from_bits(u32::from(upper) << 16 | low);
                let pairs = [
                    (Brain::round(value), bf16::from_f32(value).to_f32()),
                    (Half::round(value), f16::from_f32(value).to_f32()),
                ];
                if !value.is_nan() {
                    assert_eq!(Brain::round_number(value).to_bits(), pairs[0].1.to_bits());
                    assert_eq!(Half::round_number(value).to_bits(), pairs[1].1.to_bits());
                }
                for (ours, theirs) in pairs {
                    let is_same = ours.to_bits() == theirs.to_bits();
                    assert!(is_same || ours.is_nan() && theirs.is_nan(), "{value:e}");
                }
            }
        }
    }
}
