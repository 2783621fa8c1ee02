//! Eight numbers at a time, for kernels that are written once for all instruction sets.
//!
//! Each lane does what the scalar operation does, rounding included; nothing is fused. A kernel
//! whose sums must be made in one order puts eight of them side by side, one in each lane.

use std::ops::{Add, Div, Mul, Sub};

use super::steps::Steps;

/// Lanes of a vector.
pub(crate) const LANES: usize = 8;

/// Numbers side by side, on which every operation does the same.
///
/// Only an [`Isa`](super::Isa) makes one, so holding it proves that its instructions may be run.
pub(crate) trait Parallel:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// A yes or no for each lane.
    type Mask: Choice;

    /// The same number in every lane.
    fn same(self, value: f32) -> Self;

    /// Without the sign.
    fn abs(self) -> Self;

    /// With the sign of another number. It has none yet.
    fn signed_as(self, other: Self) -> Self;

    /// The square root.
    fn sqrt(self) -> Self;

    /// The nearest whole number, the even one of two.
    fn round(self) -> Self;

    /// The next whole number downwards.
    fn floor(self) -> Self;

    /// The whole number that is left without the fraction.
    fn trunc(self) -> Self;

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
pub(crate) trait Vector: Parallel<Mask: Mask> {
    /// The lanes.
    fn lanes(self) -> [f32; LANES];

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
pub(crate) trait Choice: Copy {
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
pub(crate) trait Mask: Choice {
    /// Lane `n` in bit `n`.
    fn bits(self) -> u8;

    /// Whether all lanes say yes.
    #[inline(always)]
    fn all(self) -> bool {
        self.bits() == u8::MAX
    }
}

/// The definition: eight times the scalar operation.
#[derive(Clone, Copy)]
pub(crate) struct Scalars(pub(super) [f32; LANES]);

impl Scalars {
    #[inline(always)]
    fn each(self, of: impl Fn(f32) -> f32) -> Self {
        Self(self.0.map(of))
    }

    #[inline(always)]
    fn with(self, other: Self, of: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|lane| of(self.0[lane], other.0[lane])))
    }

    #[inline(always)]
    fn where_(self, other: Self, is: impl Fn(f32, f32) -> bool) -> Bools {
        Bools(std::array::from_fn(|lane| is(self.0[lane], other.0[lane])))
    }
}

macro_rules! operators {
    ($($name:ident $function:ident $operator:tt),*) => {
        $(impl $name for Scalars {
            type Output = Self;

            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                self.with(other, |a, b| a $operator b)
            }
        })*
    };
}

operators!(Add add +, Sub sub -, Mul mul *, Div div /);

impl Parallel for Scalars {
    type Mask = Bools;

    #[inline(always)]
    fn same(self, value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.each(f32::abs)
    }

    #[inline(always)]
    fn signed_as(self, other: Self) -> Self {
        self.with(other, f32::copysign)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.each(f32::sqrt)
    }

    #[inline(always)]
    fn round(self) -> Self {
        self.each(f32::round_ties_even)
    }

    #[inline(always)]
    fn floor(self) -> Self {
        self.each(f32::floor)
    }

    #[inline(always)]
    fn trunc(self) -> Self {
        self.each(f32::trunc)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.with(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.with(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn less(self, than: Self) -> Bools {
        self.where_(than, |a, b| a < b)
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> Bools {
        self.where_(other, |a, b| a <= b)
    }

    #[inline(always)]
    fn equals(self, other: Self) -> Bools {
        #[allow(clippy::float_cmp)] // That is what is asked.
        self.where_(other, |a, b| a == b)
    }

    #[inline(always)]
    fn or(self, other: Self, mask: Bools) -> Self {
        Self(std::array::from_fn(|lane| if mask.0[lane] { self.0[lane] } else { other.0[lane] }))
    }
}

impl Vector for Scalars {
    #[inline(always)]
    fn lanes(self) -> [f32; LANES] {
        self.0
    }

    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        *to = self.0;
    }

    #[inline(always)]
    fn transposed(rows: [Self; LANES]) -> [Self; LANES] {
        std::array::from_fn(|lane| Self(rows.map(|row| row.0[lane])))
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // That is what is asked.
    fn to_ints(self) -> [i32; LANES] {
        let fits = |lane: &f32| (-2_147_483_648.0..2_147_483_648.0).contains(lane);
        self.0.map(|lane| if fits(&lane) { lane as i32 } else { i32::MIN })
    }

    #[inline(always)]
    fn low_bytes(of: [Self; 4]) -> [u8; 4 * LANES] {
        let ints = of.map(Self::to_ints);
        std::array::from_fn(|at| ints[at / LANES][at % LANES].to_le_bytes()[0])
    }

    #[inline(always)]
    fn nearest_steps(twice: [Self; 4], of: &Steps) -> [Self; 4] {
        let value = |twice| f32::from(of.values[usize::from(of.nearest(twice))]);
        twice.map(|twice| twice.each(value))
    }

    #[inline(always)]
    fn nearest_codes(twice: [Self; 4], of: &Steps) -> [u8; 4 * LANES] {
        std::array::from_fn(|at| of.nearest(twice[at / LANES].0[at % LANES]))
    }
}

/// The definition of a mask.
#[derive(Clone, Copy)]
pub(crate) struct Bools([bool; LANES]);

impl Choice for Bools {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] & other.0[lane]))
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane] | other.0[lane]))
    }

    #[inline(always)]
    fn not(self) -> Self {
        Self(self.0.map(|lane| !lane))
    }

    #[inline(always)]
    fn any(self) -> bool {
        self.0.contains(&true)
    }
}

impl Mask for Bools {
    #[inline(always)]
    fn bits(self) -> u8 {
        (0..).zip(self.0).fold(0, |bits, (lane, yes)| bits | u8::from(yes) << lane)
    }
}

/// Two vectors as one: enough work to hide how long an operation takes.
#[derive(Clone, Copy)]
pub(crate) struct Pair<V>(pub(crate) V, pub(crate) V);

macro_rules! pair_operators {
    ($($name:ident $function:ident),*) => {
        $(impl<V: $name<Output = V>> $name for Pair<V> {
            type Output = Self;

            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                Self(self.0.$function(other.0), self.1.$function(other.1))
            }
        })*
    };
}

pair_operators!(Add add, Sub sub, Mul mul, Div div);

/// Operations that both vectors do.
macro_rules! both {
    ($($function:ident($($other:ident: $type:ty),*) -> $result:ident;)*) => {
        $(#[inline(always)]
        fn $function(self, $($other: $type),*) -> both!(@type $result) {
            Pair(self.0.$function($($other.0),*), self.1.$function($($other.1),*))
        })*
    };
    (@type Same) => { Self };
    (@type Choices) => { Pair<V::Mask> };
}

impl<V: Parallel> Parallel for Pair<V> {
    type Mask = Pair<V::Mask>;

    #[inline(always)]
    fn same(self, value: f32) -> Self {
        Self(self.0.same(value), self.1.same(value))
    }

    both! {
        abs() -> Same;
        signed_as(other: Self) -> Same;
        sqrt() -> Same;
        round() -> Same;
        floor() -> Same;
        trunc() -> Same;
        min(other: Self) -> Same;
        max(other: Self) -> Same;
        less(than: Self) -> Choices;
        at_most(other: Self) -> Choices;
        equals(other: Self) -> Choices;
        or(other: Self, mask: Pair<V::Mask>) -> Same;
    }
}

impl<M: Mask> Pair<M> {
    /// Lane `n` in bit `n`.
    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        u32::from(self.0.bits()) | u32::from(self.1.bits()) << LANES
    }
}

impl<M: Choice> Choice for Pair<M> {
    both! {
        and(other: Self) -> Same;
        or(other: Self) -> Same;
        not() -> Same;
    }

    #[inline(always)]
    fn any(self) -> bool {
        self.0.or(self.1).any()
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
                    let alone =
                        [a.abs(), a.abs().signed_as(b), a.sqrt(), a.round(), a.floor(), a.trunc()];
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
