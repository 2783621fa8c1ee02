//! f32 to the nearest small floating-point number, the even one of two.
//!
//! Selections and arithmetic of bits, no branches: the loops around these are compiled into
//! vectors.

/// The nearest E4M3. Values beyond the largest, 448, saturate.
#[inline(always)]
pub fn to_e4m3(value: f32) -> u8 {
    if value.is_nan() { 0x7f } else { finite_to_e4m3(value) }
}

/// The nearest E4M3 of a number that is not NaN.
#[inline(always)]
pub fn finite_to_e4m3(value: f32) -> u8 {
    let sign = value.to_bits() >> 24 & 0x80;
    let value = if value < 448.0 { value } else { 448.0 };
    let value = if value > -448.0 { value } else { -448.0 };
    // Three bits of fraction, as long as the number is a normal one: from 2^-6 on.
    let [steps, exponent] = rounded::<3>(value, 127 - 6);
    #[allow(clippy::cast_possible_truncation)] // Seven bits and a sign.
    let code = ((steps + (exponent << 3)) | sign) as u8;
    code
}

/// The nearest E2M1, without its sign: 0, 0.5, 1, 1.5, 2, 3, 4 or 6.
#[inline(always)]
pub fn to_e2m1_magnitude(value: f32) -> u8 {
    let magnitude = value.abs();
    let magnitude = if magnitude < 6.0 { magnitude } else { 6.0 };
    // One bit of fraction, from 1 on.
    let [steps, exponent] = rounded::<1>(magnitude, 127);
    #[allow(clippy::cast_possible_truncation)] // Three bits.
    let code = (steps + (exponent << 1)) as u8;
    code
}

/// A number in steps of `2^-FRACTION` of its power of two, or of the least one that counts, and
/// that power above the least one.
#[inline(always)]
fn rounded<const FRACTION: u32>(value: f32, least: u32) -> [u32; 2] {
    const FRACTION_OF_F32: u32 = 23;
    let exponent = (value.to_bits() >> FRACTION_OF_F32 & 0xff).max(least);
    // Of this size, the last bit of a sum is a step: adding rounds, and leaves the steps there.
    let large = ((exponent + FRACTION_OF_F32 - FRACTION) << FRACTION_OF_F32) + 0x40_0000;
    let sum = value + f32::from_bits(large);
    let steps = sum.to_bits().wrapping_sub(large).cast_signed().unsigned_abs();
    [steps, exponent - least]
}

/// The nearest E2M1. Zero has no sign, but what becomes zero keeps its own.
#[inline(always)]
pub fn to_e2m1(value: f32) -> u8 {
    to_e2m1_magnitude(value) | u8::from(value < 0.0) << 3
}

/// Two codes of four bits in each byte, the first in the low bits.
#[inline(always)]
pub fn pack_nibbles(codes: &[u8], out: &mut [u8]) {
    let (pairs, last) = codes.as_chunks::<2>();
    for (byte, [low, high]) in out.iter_mut().zip(pairs) {
        *byte = low & 15 | high << 4;
    }
    if let (Some(byte), [low]) = (out.get_mut(pairs.len()), last) {
        *byte = low & 15;
    }
}

#[cfg(test)]
mod tests {
    use super::super::small_floats::e4m3;
    use super::*;

    /// The nearest code by looking at all of them.
    fn nearest(value: f32) -> u8 {
        let away = |code: &u8| (f64::from(e4m3(*code)) - f64::from(value.abs())).abs();
        let all = 0..127u8;
        let best = all.min_by(|a, b| away(a).total_cmp(&away(b)).then((a % 2).cmp(&(b % 2))));
        best.unwrap() | if value.is_sign_negative() { 0x80 } else { 0 }
    }

    #[test]
    fn every_code_its_neighbours_and_the_middles() {
        for code in 0..126u8 {
            let (here, next) = (e4m3(code), e4m3(code + 1));
            let middle = (here + next) / 2.0;
            for value in [here, middle, middle.next_down(), middle.next_up(), -here, -middle] {
                assert_eq!(to_e4m3(value), nearest(value), "{value:e}");
            }
        }
        for value in [448.0, 460.0, 1e9, f32::INFINITY] {
            assert_eq!((to_e4m3(value), to_e4m3(-value)), (0x7e, 0xfe));
        }
        assert_eq!((to_e4m3(f32::NAN), to_e4m3(0.0), to_e4m3(-1e-40)), (0x7f, 0, 0x80));
    }

    #[test]
    fn the_middles_of_four_bit_floats_go_to_even_codes() {
        let levels = [0.0f32, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        for (code, pair) in (0u8..).zip(levels.windows(2)) {
            let middle = f32::midpoint(pair[0], pair[1]);
            let even = code + code % 2;
            assert_eq!(to_e2m1_magnitude(pair[0]), code);
            assert_eq!(to_e2m1_magnitude(middle), even, "{middle}");
            assert_eq!(to_e2m1_magnitude(-middle.next_down()), code);
            assert_eq!(to_e2m1_magnitude(middle.next_up()), code + 1);
        }
        assert_eq!(to_e2m1_magnitude(100.0), 7);
    }
}
