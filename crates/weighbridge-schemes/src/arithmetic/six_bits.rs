//! Six-bit floats of the OCP specification for MX formats.

use crate::arithmetic::matrix::{Codes, Packing};

/// Returns the codes of floats with `exponent_bits` bits of exponent.
pub(crate) fn codes(exponent_bits: u32) -> Codes {
    Codes::new(Packing::Stream(6), |code| number(exponent_bits, code))
}

/// Returns the number of a code: a sign, `exponent_bits` bits of exponent, the rest mantissa. There
/// is neither infinity nor NaN.
fn number(exponent_bits: u32, code: u8) -> f32 {
    let mantissa_bits = 5 - exponent_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let exponent = i32::from(code & 31) >> mantissa_bits;
    let mantissa = f32::from(code & ((1 << mantissa_bits) - 1)) / (1u32 << mantissa_bits) as f32;
    let size = match exponent {
        0 => mantissa * 2f32.powi(1 - bias),
        _ => (1.0 + mantissa) * 2f32.powi(exponent - bias),
    };
    if code & 32 == 0 { size } else { -size }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends and middle of both six-bit floats, from the OCP specification of MX formats.
    #[test]
    fn six_bit_floats_are_those_of_the_specification() {
        let e2m3 = [(0, 0.0), (1, 0.125), (7, 0.875), (8, 1.0), (31, 7.5), (33, -0.125)];
        let e3m2 = [(0, 0.0), (1, 0.0625), (3, 0.1875), (4, 0.25), (31, 28.0), (63, -28.0)];
        e2m3.iter().for_each(|&(code, wanted)| assert_eq!(number(2, code), wanted));
        e3m2.iter().for_each(|&(code, wanted)| assert_eq!(number(3, code), wanted));
        assert!(number(2, 32).is_sign_negative() && number(2, 32) == 0.0);
    }
}
