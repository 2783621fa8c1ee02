//! Four-bit floats: a sign, two bits of exponent, one of mantissa.

use std::sync::LazyLock;

use super::{Codes, Packing};

/// Value of each E2M1 code. Code 8 is minus zero; ModelOpt's NVFP4 reader reads it as zero.
pub(crate) const E2M1: [f32; 16] =
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];

/// E2M1 codes, two per byte, the low nibble first.
pub(crate) static FLOATS4: LazyLock<Codes> =
    LazyLock::new(|| Codes::new(Packing::LowNibbles, |code| E2M1[usize::from(code)]));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::to_e2m1;

    #[test]
    fn four_bit_floats_are_those_of_the_standard() {
        // Nothing is rounded to minus zero.
        let mut codes = (0..16).filter(|code| *code != 8);
        assert!(codes.all(|code| to_e2m1(E2M1[usize::from(code)]) == code));
        assert_eq!(E2M1[..8], [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
    }
}
