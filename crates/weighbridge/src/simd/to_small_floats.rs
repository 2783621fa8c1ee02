//! f32 to the nearest small floating-point number, the even one of two.
//!
//! Selections and arithmetic of bits, no branches: the loops around these are compiled into
//! vectors.

/// The nearest E4M3. What is larger than the largest of them, 448, becomes that.
#[inline(always)]
pub(crate) fn to_e4m3(value: f32) -> u8 {
    let (bits, sign) = (value.to_bits() & 0x7fff_ffff, value.to_bits() >> 24 & 0x80);
    let magnitude = f32::from_bits(bits);
    // The fraction loses all but three bits; a carry moves into the exponent, as it should.
    let normal = (bits + 0x7_ffff + (bits >> 20 & 1) >> 20).wrapping_sub((127 - 7) << 3);
    // Below the smallest normal number, adding this leaves the nearest multiple of 2^-9.
    const STEPS: f32 = 16384.0;
    let subnormal = (magnitude + STEPS).to_bits().wrapping_sub(STEPS.to_bits());
    let code = if magnitude < 1.0 / 64.0 { subnormal } else { normal };
    let bounded = if magnitude >= 448.0 { 0x7e } else { code };
    let code = if bits > 0x7f80_0000 { 0x7f } else { bounded };
    #[allow(clippy::cast_possible_truncation)] // Seven bits and a sign.
    let code = (code | sign) as u8;
    code
}

/// The nearest E2M1, without its sign: 0, 0.5, 1, 1.5, 2, 3, 4 or 6.
#[inline(always)]
pub(crate) fn to_e2m1_magnitude(value: f32) -> u8 {
    let x = value.abs();
    let odd = u8::from(x > 0.25) + u8::from(x > 1.25) + u8::from(x > 2.5) + u8::from(x > 5.0);
    let even = u8::from(x >= 0.75) + u8::from(x >= 1.75) + u8::from(x >= 3.5);
    odd + even
}

/// The nearest E2M1. Zero has no sign, but what becomes zero keeps its own.
#[inline(always)]
pub(crate) fn to_e2m1(value: f32) -> u8 {
    to_e2m1_magnitude(value) | u8::from(value < 0.0) << 3
}

/// Two codes of four bits in each byte, the first in the low bits.
#[inline(always)]
pub(crate) fn pack_nibbles(codes: &[u8], out: &mut [u8]) {
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
