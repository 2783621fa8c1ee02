//! Encodes numbers as floating-point codes with one scale per group: mxfp4, mxfp8, nvfp4.
//!
//! The arithmetic is that of `mx.quantize` of MLX 0.32.4 on a CPU, each step rounded to the type of
//! the weight:
//!
//! - mxfp4, mxfp8: the largest magnitude over 6 or 448, and of that the next power of two that is
//!   not less (older versions took the nearest one). A group of zeros has the power zero.
//! - nvfp4: the largest magnitude over 6 in E4M3. Where that is zero, so are all codes.
//! - E2M1: what lies between two codes has the smaller one, and nothing is negative zero. E4M3: the
//!   even one, at most 448, and zero keeps its sign.
//!
//! One case differs from MLX: a power below 2^-127, which has no byte, is 2^-127 here.

use super::kind::Mode;
use crate::arithmetic::magnitude::largest_magnitude;
use crate::arithmetic::matrix::rounded;
use crate::arithmetic::precision::{Brain, Half, Precision};
use crate::dtype::DType;
use crate::simd::small_floats::{e4m3, e8m0};
use crate::simd::{Isa, Task, pack_nibbles, to_e4m3};

/// Largest numbers of E4M3 and of E2M1.
const LARGEST_E4M3: f32 = 448.0;
const LARGEST_E2M1: f32 = 6.0;

/// Midpoints between the magnitudes of E2M1.
const MIDDLES: [f32; 7] = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0];

/// Groups to encode.
pub(super) struct Floats<'a> {
    pub(super) values: &'a [f32],
    pub(super) mode: Mode,
    /// Type of the weight.
    pub(super) dtype: DType,
    pub(super) codes: &'a mut [u8],
    /// Scale of each group.
    pub(super) scales: &'a mut [u8],
}

impl Task for Floats<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let Self { values, mode, dtype, codes, scales } = self;
        match (mode, dtype) {
            (Mode::Mxfp8, _) => groups::<32, 32>(values, codes, scales, |group, out| {
                let scale = power(dtype, largest_magnitude(group), LARGEST_E4M3);
                let size = e8m0(scale);
                group.iter().zip(out).for_each(|(value, code)| *code = to_e4m3(value / size));
                scale
            }),
            (Mode::Mxfp4, _) => groups::<32, 16>(values, codes, scales, |group, out| {
                let scale = power(dtype, largest_magnitude(group), LARGEST_E2M1);
                to_nibbles(group, out, e8m0(scale), |value| value);
                scale
            }),
            (_, DType::BF16) => nvfp4(values, codes, scales, dtype, Brain::round),
            (_, DType::F16) => nvfp4(values, codes, scales, dtype, Half::round),
            _ => nvfp4(values, codes, scales, dtype, |value| value),
        }
    }
}

/// Encodes each group of `GROUP` numbers in `BYTES` bytes, and stores its scale.
#[inline(always)]
fn groups<const GROUP: usize, const BYTES: usize>(
    values: &[f32],
    codes: &mut [u8],
    scales: &mut [u8],
    each: impl Fn(&[f32; GROUP], &mut [u8; BYTES]) -> u8,
) {
    let outs = codes.as_chunks_mut().0.iter_mut().zip(scales);
    for (group, (out, scale)) in values.as_chunks().0.iter().zip(outs) {
        *scale = each(group, out);
    }
}

#[inline(always)]
fn nvfp4(
    values: &[f32],
    codes: &mut [u8],
    scales: &mut [u8],
    dtype: DType,
    nearest: impl Fn(f32) -> f32 + Copy,
) {
    groups::<16, 8>(values, codes, scales, |group, out| {
        let scale = to_e4m3(rounded(Some(dtype), largest_magnitude(group) / LARGEST_E2M1));
        match scale {
            0 => out.fill(0),
            _ => to_nibbles(group, out, e4m3(scale), nearest),
        }
        scale
    });
}

/// Writes E2M1 codes for numbers over a scale, two per byte.
#[inline(always)]
fn to_nibbles<const GROUP: usize, const BYTES: usize>(
    group: &[f32; GROUP],
    out: &mut [u8; BYTES],
    scale: f32,
    nearest: impl Fn(f32) -> f32,
) {
    let mut codes = [0; GROUP];
    let of = |value: &f32| to_e2m1(nearest(value / scale));
    codes.iter_mut().zip(group).for_each(|(code, value)| *code = of(value));
    pack_nibbles(&codes, out);
}

/// Returns the nearest E2M1 code.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // Codes have four bits.
fn to_e2m1(value: f32) -> u8 {
    let magnitude = value.abs();
    let above = |middle: &f32| u32::from(magnitude > *middle);
    let code: u32 = MIDDLES.iter().map(above).sum();
    let sign = if value < -MIDDLES[0] { 8 } else { 0 };
    (code | sign) as u8
}

/// Returns the byte of the power of two that divides a group.
fn power(dtype: DType, largest: f32, of_codes: f32) -> u8 {
    let ratio = rounded(Some(dtype), largest / of_codes);
    if ratio == 0.0 {
        return 127;
    }
    // In double precision, even the smallest has its own exponent.
    let bits = f64::from(ratio).to_bits();
    let is_between = bits & ((1 << 52) - 1) != 0;
    let exponent = (bits >> 52) + u64::from(is_between);
    u8::try_from(exponent.saturating_sub(1023 - 127)).unwrap_or(254)
}
