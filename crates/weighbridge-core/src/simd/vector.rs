//! Eight numbers at a time, for kernels that are written once for all instruction sets.
//!
//! Each lane does what the scalar operation does, rounding included; nothing is fused. A kernel
//! whose sums must be made in one order puts eight of them side by side, one in each lane.

/// Short functions that become part of their callers; each is one expression.
macro_rules! inlined {
    ($($(#[$about:meta])* fn $name:ident($($arguments:tt)*) $(-> $result:ty)? = $value:expr;)*) => {
        $($(#[$about])*
        #[inline(always)]
        fn $name($($arguments)*) $(-> $result)? {
            $value
        })*
    };
}

use std::ops::{Add, Div, Mul, Sub};

use super::steps::Steps;

/// Lanes of a vector.
pub const LANES: usize = 8;

/// Numbers side by side, on which every operation does the same.
///
/// Only an [`Isa`](super::Isa) makes one, so holding it proves that its instructions may be run.
pub trait Parallel:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// A yes or no for each lane.
    type Mask: Choice;

    /// One number in every lane.
    fn same(self, value: f32) -> Self;

    /// Without the sign.
    fn abs(self) -> Self;

    /// With the sign of another number. It has none yet.
    fn signed_as(self, other: Self) -> Self;

    /// The square root.
    fn sqrt(self) -> Self;

    /// The nearest whole number, the even one of two.
    fn round(self) -> Self;

    /// `self < other ? self : other` of C: `other` if one is NaN.
    fn min(self, other: Self) -> Self;

    /// `self > other ? self : other` of C: `other` if one is NaN.
    fn max(self, other: Self) -> Self;

    /// Where it is less.
    fn less(self, than: Self) -> Self::Mask;

    /// Where it is less or equal.
    fn at_most(self, other: Self) -> Self::Mask;

    /// Where it is equal.
    fn equals(self, other: Self) -> Self::Mask;

    /// `self` where the mask says yes, `other` elsewhere.
    fn or(self, other: Self, mask: Self::Mask) -> Self;
}

/// Eight f32.
pub trait Vector: Parallel<Mask: Mask> {
    /// The lanes.
    #[inline(always)]
    fn lanes(self) -> [f32; LANES] {
        let mut lanes = [0.0; LANES];
        self.store(&mut lanes);
        lanes
    }

    /// Writes the lanes.
    fn store(self, to: &mut [f32; LANES]);

    /// Lane `n` of vector `m` becomes lane `m` of vector `n`.
    fn transposed(rows: [Self; LANES]) -> [Self; LANES];

    /// The lanes as whole numbers, without their fractions; the smallest one for what does not fit.
    fn to_ints(self) -> [i32; LANES];

    /// The lowest byte of each of these whole numbers.
    fn low_bytes(of: [Self; 4]) -> [u8; 4 * LANES];

    /// What the steps stand for that are nearest to half of these numbers. They are numbers, and
    /// below 2^31.
    fn nearest_steps(twice: [Self; 4], of: &Steps) -> [Self; 4];

    /// The steps that are nearest to half of these numbers. They are numbers, and below 2^31.
    fn nearest_codes(twice: [Self; 4], of: &Steps) -> [u8; 4 * LANES];
}

/// A yes or no for each lane of a [`Parallel`].
pub trait Choice: Copy {
    /// Where both say yes.
    fn and(self, other: Self) -> Self;

    /// Where one of them says yes.
    fn or(self, other: Self) -> Self;

    /// Where it says no.
    fn not(self) -> Self;

    /// Whether any lane says yes.
    fn any(self) -> bool;
}

/// A yes or no for each lane of a [`Vector`].
pub trait Mask: Choice {
    /// Lane `n` in bit `n`.
    fn bits(self) -> u8;

    /// Whether all lanes say yes.
    #[inline(always)]
    fn all(self) -> bool {
        self.bits() == u8::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Isa, Level, Task, run};
    use super::*;

    const STEPS: Steps =
        Steps::of([-99, -86, -73, -60, -47, -34, -21, -8, 5, 18, 31, 44, 57, 70, 83, 96]);

    const ODD: [f32; 12] = [
        0.0,
        -0.0,
        0.5,
        -1.5,
        2.5,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1e-40,
        -3.7e8,
        8388609.0,
        16777216.0,
    ];

    /// Every operation on the odd numbers, each with each.
    struct All;

    impl Task for All {
        type Output = Vec<u32>;

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Vec<u32> {
            let mut bits = Vec::new();
            for first in 0..ODD.len() {
                for second in 0..ODD.len() {
                    let from = |at: usize| std::array::from_fn(|n| ODD[(at + n) % ODD.len()]);
                    let (a, b) = (isa.vector(from(first)), isa.vector(from(second)));
                    let sums = [a + b, a - b, a * b, a / b, a.min(b), a.max(b), isa.splat(ODD[3])];
                    let alone = [a.abs(), a.abs().signed_as(b), a.sqrt(), a.round()];
                    let masks = [a.less(b), a.at_most(b), a.equals(b)];
                    let both = masks[0].or(masks[2].not()).and(masks[1]);
                    let plain = |lane: f32| if lane.is_nan() { f32::NAN } else { lane };
                    for vector in sums.into_iter().chain(alone).chain([a.or(b, both)]) {
                        let mut stored = [0.0; LANES];
                        vector.store(&mut stored);
                        bits.extend(stored.map(|lane| plain(lane).to_bits()));
                    }
                    bits.extend(masks.map(|mask| u32::from(mask.bits())));
                    bits.extend(a.to_ints().map(i32::cast_unsigned));
                    bits.extend(I::Vector::low_bytes([a, b, a + b, a * b]).map(u32::from));
                    let small = [a, b, a - b, a + b].map(|x| x.min(isa.splat(600.0)));
                    let small = small.map(|x| x.max(isa.splat(-600.0)));
                    bits.extend(I::Vector::nearest_codes(small, &STEPS).map(u32::from));
                    for row in I::Vector::nearest_steps(small, &STEPS) {
                        bits.extend(row.lanes().map(f32::to_bits));
                    }
                    for row in I::Vector::transposed([a, b, a, b, b, a, b, b]) {
                        bits.extend(row.lanes().map(|lane| plain(lane).to_bits()));
                    }
                }
            }
            bits
        }
    }

    #[test]
    fn every_level_does_what_the_definition_does() {
        let expected = run(Level::BASELINE, All);
        for &level in Level::available() {
            assert!(run(level, All) == expected, "{level:?}");
        }
    }
}
