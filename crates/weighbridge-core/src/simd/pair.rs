//! Two vectors as one.

use std::ops::{Add, Div, Mul, Sub};

use super::vector::{Choice, LANES, Mask, Parallel};

/// Two vectors as one: enough work to hide how long an operation takes.
#[derive(Clone, Copy)]
pub struct Pair<V>(pub V, pub V);

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
    pub fn bits(self) -> u32 {
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
