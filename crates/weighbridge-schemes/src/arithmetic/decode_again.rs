//! Codes of groups as numbers again: what an encoder needs to say what it costs.
//!
//! A number is what its code stands for, less the group's zero point, times the group's scale.

use crate::framework::SameLevels;
use crate::simd::small_floats::e4m3;
use crate::simd::{self, Isa, Task};

/// What codes stand for, and how they lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CodesOf {
    /// 8-bit floats, a byte each.
    Floats8,
    /// Signed bytes, stored with this added.
    Bytes(u8),
    /// Four-bit integers from -8 on, low nibbles first.
    Nibbles,
    /// Four-bit floats, low nibbles first.
    Floats4,
}

/// Groups of codes, one after the other.
pub(crate) struct Coded<'a> {
    pub(crate) of: CodesOf,
    /// Numbers of a group.
    pub(crate) group: usize,
    pub(crate) codes: &'a [u8],
    /// The scale of each group, and its zero point.
    pub(crate) scales: &'a [(f32, f32)],
}

impl Coded<'_> {
    /// Decodes all groups, and adds their levels where these are even enough to have a step.
    pub(crate) fn decode(&self, out: &mut [f32], levels: &mut Vec<SameLevels>) {
        simd::run(simd::level(), Decode { coded: self, out });
        let Some((step, lowest, highest)) = self.of.levels() else { return };
        for (numbers, &(scale, zero)) in out.chunks(self.group.max(1)).zip(self.scales) {
            let ends = [(lowest - zero) * scale, (highest - zero) * scale];
            levels.push(SameLevels {
                elements: numbers.len(),
                step: step * scale.abs(),
                lowest: ends[0].min(ends[1]),
                highest: ends[0].max(ends[1]),
            });
        }
    }
}

impl CodesOf {
    /// The middling step between codes, the lowest and the highest.
    fn levels(self) -> Option<(f32, f32, f32)> {
        match self {
            Self::Floats8 => None,
            Self::Bytes(_) => Some((1.0, -128.0, 127.0)),
            Self::Nibbles => Some((1.0, -8.0, 7.0)),
            Self::Floats4 => Some((1.0, -6.0, 6.0)),
        }
    }
}

struct Decode<'a> {
    coded: &'a Coded<'a>,
    out: &'a mut [f32],
}

impl Task for Decode<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let (group, of) = (self.coded.group.max(1), self.coded.of);
        let width = match of {
            CodesOf::Floats8 | CodesOf::Bytes(_) => group,
            CodesOf::Nibbles | CodesOf::Floats4 => (group / 2).max(1),
        };
        let groups = self.out.chunks_mut(group).zip(self.coded.codes.chunks(width));
        for ((out, codes), &(scale, zero)) in groups.zip(self.coded.scales) {
            match of {
                CodesOf::Floats8 => each(out, codes, |code| (e4m3(code) - zero) * scale),
                CodesOf::Bytes(added) => each(out, codes, |code| {
                    (f32::from(code.wrapping_sub(added).cast_signed()) - zero) * scale
                }),
                CodesOf::Nibbles => {
                    pairs(out, codes, |code| (f32::from(code) - 8.0 - zero) * scale);
                }
                CodesOf::Floats4 => pairs(out, codes, |code| (e2m1(code) - zero) * scale),
            }
        }
    }
}

#[inline(always)]
fn each(out: &mut [f32], codes: &[u8], number: impl Fn(u8) -> f32) {
    out.iter_mut().zip(codes).for_each(|(out, &code)| *out = number(code));
}

#[inline(always)]
fn pairs(out: &mut [f32], codes: &[u8], number: impl Fn(u8) -> f32) {
    for (out, &byte) in out.as_chunks_mut::<2>().0.iter_mut().zip(codes) {
        *out = [number(byte & 15), number(byte >> 4)];
    }
}

/// What a four-bit float is.
#[inline(always)]
pub(crate) fn e2m1(code: u8) -> f32 {
    // The bits move to their places in single precision; the multiplication corrects the bias, and
    // makes the one number below the normal ones right.
    let magnitude = f32::from_bits(u32::from(code & 7) << 22) * f32::from_bits((127 + 126) << 23);
    f32::from_bits(magnitude.to_bits() | u32::from(code & 8) << 28)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bit_floats_are_those_of_the_standard() {
        let all: Vec<f32> = (0..8).map(e2m1).collect();
        assert_eq!(all, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!((e2m1(9), e2m1(15)), (-0.5, -6.0));
    }

    #[test]
    fn scales_and_zero_points_are_those_of_the_group() {
        let coded = Coded {
            of: CodesOf::Nibbles,
            group: 2,
            codes: &[0x98, 0x0f],
            scales: &[(0.5, 0.0), (2.0, 1.0)],
        };
        let (mut out, mut levels) = ([0.0; 4], Vec::new());
        coded.decode(&mut out, &mut levels);
        assert_eq!(out, [0.0, 0.5, 12.0, -18.0]);
        assert_eq!((levels[1].step, levels[1].lowest, levels[1].highest), (2.0, -18.0, 12.0));
    }
}
