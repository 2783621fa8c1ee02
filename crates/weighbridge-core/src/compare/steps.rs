//! How many steps of a type lie between two numbers, and whether one is the other, rounded.
//!
//! Both are rounded to the type. A step leads from a number of the type to the next one; both
//! zeros count as one.

use half::{bf16, f16};

use crate::simd::{self, Level, Number};

/// Numbers that are rounded together.
const PIECE: usize = 1024;

/// A type of 16 or 32 bits that numbers are rounded to.
pub trait Coarse: Number {
    /// Its bits as a signed integer whose sign is that of the number.
    fn signed_bits(self) -> i32;
    /// The bits that are not the sign.
    const MAGNITUDE: i32;

    /// Whether it is NaN.
    fn is_not_a_number(self) -> bool;

    /// Where it stands among all numbers of the type.
    #[inline(always)]
    fn place(self) -> i32 {
        let bits = self.signed_bits();
        let (sign, magnitude) = (bits >> 31, bits & Self::MAGNITUDE);
        (magnitude ^ sign) - sign
    }

    /// Whether both are the same to the bit, or both NaN.
    #[inline(always)]
    fn is_same(self, other: Self) -> bool {
        self.signed_bits() == other.signed_bits()
            || self.is_not_a_number() && other.is_not_a_number()
    }
}

macro_rules! coarse {
    ($($type:ident: $magnitude:expr),*) => {
        $(impl Coarse for $type {
            const MAGNITUDE: i32 = $magnitude;
            #[inline(always)]
            fn signed_bits(self) -> i32 {
                self.to_bits().cast_signed().into()
            }
            #[inline(always)]
            fn is_not_a_number(self) -> bool {
                self.is_nan()
            }
        })*
    };
}

coarse!(f32: i32::MAX, bf16: 0x7fff, f16: 0x7fff);

/// The most steps between two finite numbers of a piece, and whether all are the same in the type.
pub fn steps<T: Coarse>(level: Level, a: &[f32], b: &[f32]) -> (u64, bool) {
    let (mut most, mut same) = (0, true);
    let [mut in_a, mut in_b] = [[T::default(); PIECE]; 2];
    for (a, b) in a.chunks(PIECE).zip(b.chunks(PIECE)) {
        let (in_a, in_b) = (&mut in_a[..a.len()], &mut in_b[..b.len()]);
        simd::narrow(level, a, in_a);
        simd::narrow(level, b, in_b);
        let is_finite = |values: &[f32]| values.iter().fold(true, |all, x| all & x.is_finite());
        let (apart, all) = if is_finite(a) & is_finite(b) {
            of_finite(in_a, in_b)
        } else {
            let finite = a.iter().zip(b).map(|(a, b)| a.is_finite() && b.is_finite());
            let pairs = in_a.iter().zip(&*in_b).zip(finite);
            of_any(pairs.map(|((&a, &b), is_finite)| (a, b, is_finite)))
        };
        most = most.max(apart);
        same &= all;
    }
    (most.into(), same)
}

fn of_finite<T: Coarse>(a: &[T], b: &[T]) -> (u32, bool) {
    let (mut most, mut other) = (0, 0);
    for (&a, &b) in a.iter().zip(b) {
        let apart = a.place().abs_diff(b.place());
        most = if apart > most { apart } else { most };
        other |= a.signed_bits() ^ b.signed_bits();
    }
    (most, other == 0)
}

/// Each pair comes with whether both were finite before they were rounded.
fn of_any<T: Coarse>(pairs: impl Iterator<Item = (T, T, bool)>) -> (u32, bool) {
    let (mut most, mut same) = (0, true);
    for (a, b, are_finite) in pairs {
        if are_finite {
            most = most.max(a.place().abs_diff(b.place()));
        }
        // What overflows is infinite only if it was not before.
        same &= a.is_same(b);
    }
    (most, same)
}

/// [`steps`] for numbers that already are of the type.
pub fn steps_in<T: Coarse>(a: &[T], b: &[T]) -> (u64, bool) {
    let is_finite = |x: T| x.signed_bits() & T::MAGNITUDE < infinity::<T>();
    let pairs = a.iter().zip(b).map(|(&a, &b)| (a, b, is_finite(a) && is_finite(b)));
    let (most, same) = of_any(pairs);
    (most.into(), same)
}

fn infinity<T: Coarse>() -> i32 {
    T::narrow(f32::INFINITY).signed_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_the_type() {
        let next = f32::from_bits(1.0f32.to_bits() + 3);
        assert_eq!(steps::<f32>(Level::BASELINE, &[1.0], &[next]), (3, false));
        assert_eq!(steps::<bf16>(Level::BASELINE, &[1.0], &[next]), (0, true));
        assert_eq!(steps::<bf16>(Level::BASELINE, &[1.0, 2.0], &[1.0078125, 2.0]), (1, false));
        assert_eq!(steps::<f16>(Level::BASELINE, &[1.0], &[1.0078125]), (8, false));
        assert_eq!(steps::<f32>(Level::BASELINE, &[0.0], &[-0.0]), (0, false));
        let least = f32::from_bits(1);
        assert_eq!(steps::<f32>(Level::BASELINE, &[least], &[-least]), (2, false));
        let far = 2 * u64::from(f32::MAX.to_bits());
        assert_eq!(steps::<f32>(Level::BASELINE, &[f32::MAX], &[f32::MIN]), (far, false));
    }

    #[test]
    fn levels_agree_on_all_lengths() {
        let a: Vec<f32> = (0..3000u32).map(|i| f32::from_bits(i * 1_431_655)).collect();
        let b: Vec<f32> = a.iter().map(|x| f32::from_bits(x.to_bits() ^ 0x1000)).collect();
        for len in [0, 1, 7, 8, 9, 1023, 1025, 3000] {
            let wanted = steps::<f16>(Level::BASELINE, &a[..len], &b[..len]);
            for &level in Level::available() {
                assert_eq!(steps::<f16>(level, &a[..len], &b[..len]), wanted);
            }
        }
    }

    #[test]
    fn one_nan_is_the_same_as_another() {
        let (a, b) = ([f32::NAN, 1.0], [-f32::NAN, 1.0]);
        assert_eq!(steps::<bf16>(Level::BASELINE, &a, &b), (0, true));
        assert_eq!(steps::<bf16>(Level::BASELINE, &a, &[0.0, 1.0]), (0, false));
        // Too large for the type is infinite in it.
        assert_eq!(steps::<f16>(Level::BASELINE, &[70000.0], &[f32::INFINITY]), (0, true));
        let (a, b) = ([f16::NAN, f16::INFINITY, f16::ONE], [f16::NAN, f16::INFINITY, f16::ONE]);
        assert_eq!(steps_in(&a, &b), (0, true));
        assert_eq!(steps_in(&a, &[f16::NAN, f16::MAX, f16::ONE]), (0, false));
    }
}
