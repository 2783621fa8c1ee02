//! Rounds f64 to 16 bits in one step.
//!
//! Two roundings in a row can go wrong: the first may land exactly between two 16-bit numbers, and
//! the second then breaks a tie that did not exist. So the first one rounds *to odd*: an inexact
//! result gets a last bit of one, which is never a tie for a later rounding with at least two bits
//! less.

/// Returns the f32 next to `x` towards zero, with its last bit set unless `x` is exactly that f32.
#[allow(clippy::cast_possible_truncation)] // Rounding is the point.
pub(super) fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    if back == x || x.is_nan() {
        return near;
    }
    let towards_zero = near.to_bits() - u32::from(back.abs() > x.abs());
    f32::from_bits(towards_zero | 1)
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::to_odd;

    /// Around every number of a 16-bit type and around every middle between two neighbours, the
    /// nearest f64 on each side must go to the right one; the middle itself to the even one.
    fn check(finite: impl Iterator<Item = u16>, exact: fn(u16) -> f64, round: fn(f32) -> u16) {
        let mut checked = 0;
        for bits in finite {
            let (low, high) = (exact(bits), exact(bits + 1));
            let middle = low + (high - low) / 2.0;
            let even = if bits & 1 == 0 { bits } else { bits + 1 };
            for (x, wanted) in [
                (low, bits),
                (low.next_up(), bits),
                (middle.next_down(), bits),
                (middle, even),
                (middle.next_up(), bits + 1),
                (high.next_down(), bits + 1),
            ] {
                assert_eq!(round(to_odd(x)), wanted, "{x:e}");
                assert_eq!(round(to_odd(-x)), wanted | 0x8000, "{:e}", -x);
            }
            checked += 1;
        }
        assert!(checked > 30_000);
    }

    #[test]
    fn every_half() {
        // The next number after the largest one would be 2^16: from its middle on it is infinite.
        let exact = |bits| if bits == 0x7c00 { 65536.0 } else { f16::from_bits(bits).to_f64() };
        check(0..0x7c00, exact, |x| f16::from_f32(x).to_bits());
    }

    #[test]
    fn every_bfloat() {
        let exact = |bits| match bits {
            0x7f80 => 2f64.powi(128),
            bits => bf16::from_bits(bits).to_f64(),
        };
        check(0..0x7f80, exact, |x| bf16::from_f32(x).to_bits());
    }

    #[test]
    fn what_is_not_finite_stays_so_and_what_is_too_large_becomes_it() {
        assert!(to_odd(f64::NAN).is_nan());
        assert_eq!(to_odd(f64::NEG_INFINITY), f32::NEG_INFINITY);
        assert_eq!(f16::from_f32(to_odd(1e300)), f16::INFINITY);
        assert_eq!(bf16::from_f32(to_odd(-1e300)), bf16::NEG_INFINITY);
        assert_eq!(bf16::from_f32(to_odd(1e-300)), bf16::ZERO);
    }
}
