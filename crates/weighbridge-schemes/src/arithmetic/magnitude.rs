//! The largest magnitude of some numbers, which also tells whether all are finite.

/// Returns the largest magnitude; NaN or infinity if there is one.
#[inline(always)]
pub(crate) fn largest_magnitude(values: &[f32]) -> f32 {
    // Without the sign, bit patterns are ordered by magnitude, with NaN last.
    let bits = |value: &f32| value.to_bits() & !(1 << 31);
    f32::from_bits(values.iter().map(bits).fold(0, u32::max))
}

#[cfg(test)]
mod tests {
    use super::largest_magnitude;

    #[test]
    fn nothing_is_larger_than_what_is_no_number() {
        assert_eq!(largest_magnitude(&[]), 0.0);
        assert_eq!(largest_magnitude(&[1.0, -3.5, -0.0, 1e-40]), 3.5);
        assert_eq!(largest_magnitude(&[1.0, f32::NEG_INFINITY]), f32::INFINITY);
        assert!(largest_magnitude(&[f32::INFINITY, -f32::NAN, 2.0]).is_nan());
    }
}
