//! The nearest E4M3 of quotients that are rounded to the weight's type first.

use crate::arithmetic::group_codes::bytes;
use crate::arithmetic::precision::Precision;
use crate::dtype::DType;
use crate::simd::{finite_to_e4m3, to_e4m3};

/// Numbers that are rounded to bf16 before any of them is encoded.
const AT_ONCE: usize = 128;

/// A code for each of `values`, divided by the scale. A zero point of zero is added, which takes the
/// sign of minus zero.
#[inline(always)]
pub(super) fn quotients<P: Precision>(values: &[f32], scale: f32, codes: &mut [u8]) {
    if !scale.is_finite() {
        // One of the numbers is infinite or NaN.
        return bytes(values, codes, |value| to_e4m3(P::round(value / scale) + 0.0));
    }
    let mut values = values;
    let mut codes = codes;
    if P::DTYPE == DType::BF16 {
        let (whole, rest) = values.as_chunks::<AT_ONCE>();
        let (whole_codes, rest_codes) = codes.as_chunks_mut::<AT_ONCE>();
        for (values, codes) in whole.iter().zip(whole_codes) {
            brain_quotients::<P>(values, scale, codes);
        }
        (values, codes) = (rest, rest_codes);
    }
    bytes(values, codes, |value| finite_to_e4m3(P::round_number(value / scale) + 0.0));
}

/// As bf16, numbers have 16 bits, and twice as many of them are encoded at a time.
#[inline(always)]
fn brain_quotients<P: Precision>(values: &[f32; AT_ONCE], scale: f32, codes: &mut [u8; AT_ONCE]) {
    let mut quotients = [0u16; AT_ONCE];
    let mut has_subnormal = 0;
    for (quotient, value) in quotients.iter_mut().zip(values) {
        #[allow(clippy::cast_possible_truncation)] // bf16 has sixteen bits.
        let bits = P::bits(P::round_number(value / scale) + 0.0) as u16;
        *quotient = bits;
    }
    for quotient in &quotients {
        has_subnormal |= u16::from((quotient & 0x7fff).wrapping_sub(1) < LEAST - 1);
    }
    let wide = |quotient: u16| f32::from_bits(u32::from(quotient) << 16);
    let pairs = codes.iter_mut().zip(quotients);
    match has_subnormal {
        0 => pairs.for_each(|(code, quotient)| *code = normal_to_e4m3(quotient)),
        _ => pairs.for_each(|(code, quotient)| *code = finite_to_e4m3(wide(quotient))),
    }
}

/// The least normal number of E4M3, 2^-6, as bf16.
const LEAST: u16 = 0x3c80;

/// A bf16 that is zero or a normal number of E4M3.
#[inline(always)]
fn normal_to_e4m3(value: u16) -> u8 {
    let magnitude = value & 0x7fff;
    let rounded = (magnitude + 7 + (magnitude >> 4 & 1)) >> 4;
    let code = rounded.saturating_sub((127 - 7) << 3).min(0x7e);
    (code | value >> 8 & 0x80).to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::precision::{Brain, Half};

    #[test]
    fn both_ways_give_the_same_codes() {
        let every: Vec<f32> =
            (0..=u16::MAX).map(|bits| f32::from_bits(u32::from(bits) << 16)).collect();
        let finite: Vec<f32> = every.into_iter().filter(|value| value.is_finite()).collect();
        for scale in [1.0, 0.75, 3.0e-5, 1.0e4] {
            // Without those that E4M3 has no normal number for, and with them.
            for least in [0.016 * scale, 0.0] {
                let values: Vec<f32> =
                    finite.iter().copied().filter(|v| *v == 0.0 || v.abs() > least).collect();
                let mut codes = vec![0; values.len()];
                quotients::<Brain>(&values, scale, &mut codes);
                for (value, code) in values.iter().zip(codes) {
                    assert_eq!(code, to_e4m3(Brain::round(value / scale) + 0.0), "{value:e}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        let mut codes = [0; 3];
        quotients::<Half>(&[1.0, f32::NAN, -2.0], f32::NAN, &mut codes);
        assert_eq!(codes, [0x7f; 3]);
    }
}
