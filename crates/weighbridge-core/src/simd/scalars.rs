//! The definition of a [`Vector`]: eight times the scalar operation.

use std::ops::{Add, Div, Mul, Sub};

use super::steps::Steps;
use super::vector::{Choice, LANES, Mask, Parallel, Vector};

/// The definition: eight times the scalar operation.
#[derive(Clone, Copy)]
pub struct Scalars(pub(super) [f32; LANES]);

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

    inlined! {
        fn same(self, value: f32) -> Self = Self([value; LANES]);
        fn abs(self) -> Self = self.each(f32::abs);
        fn signed_as(self, other: Self) -> Self = self.with(other, f32::copysign);
        fn sqrt(self) -> Self = self.each(f32::sqrt);
        fn round(self) -> Self = self.each(f32::round_ties_even);
        fn min(self, other: Self) -> Self = self.with(other, |a, b| if a < b { a } else { b });
        fn max(self, other: Self) -> Self = self.with(other, |a, b| if a > b { a } else { b });
        fn less(self, than: Self) -> Bools = self.where_(than, |a, b| a < b);
        fn at_most(self, other: Self) -> Bools = self.where_(other, |a, b| a <= b);
        fn equals(self, other: Self) -> Bools = self.where_(other, |a, b| a == b);
        fn or(self, other: Self, mask: Bools) -> Self =
            Self(std::array::from_fn(|at| if mask.0[at] { self.0[at] } else { other.0[at] }));
    }
}

impl Vector for Scalars {
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
pub struct Bools([bool; LANES]);

impl Choice for Bools {
    inlined! {
        fn and(self, other: Self) -> Self =
            Self(std::array::from_fn(|lane| self.0[lane] & other.0[lane]));
        fn or(self, other: Self) -> Self =
            Self(std::array::from_fn(|lane| self.0[lane] | other.0[lane]));
        fn not(self) -> Self = Self(self.0.map(|lane| !lane));
        fn any(self) -> bool = self.0.contains(&true);
    }
}

impl Mask for Bools {
    #[inline(always)]
    fn bits(self) -> u8 {
        (0..).zip(self.0).fold(0, |bits, (lane, yes)| bits | u8::from(yes) << lane)
    }
}
