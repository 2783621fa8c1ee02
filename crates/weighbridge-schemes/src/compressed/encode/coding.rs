//! The arithmetic of one group: its scale, and the code of each number.

use std::marker::PhantomData;

use super::quotients::quotients;
use crate::arithmetic::group_codes::{bytes, largest, nibbles};
use crate::arithmetic::precision::Precision;
use crate::simd::small_floats::e4m3;
use crate::simd::{Isa, Task, to_e2m1, to_e4m3};

/// Makes codes and a scale of a group of numbers.
pub(super) trait Coding<P> {
    /// Fills `codes`, and `scale` with the bytes of the scale; gives the zero point.
    ///
    /// Must be `#[inline(always)]`, to be compiled for each instruction set.
    fn encode(&self, values: &[f32], codes: &mut [u8], scale: &mut [u8]) -> i8;
}

/// Groups of numbers, one after the other, and where their codes go.
pub(super) struct Encode<'a, C, P> {
    pub(super) coding: C,
    pub(super) precision: PhantomData<P>,
    pub(super) values: &'a [f32],
    /// Numbers of a group, and bytes of its codes and of its scale.
    pub(super) group: [usize; 3],
    pub(super) codes: &'a mut [u8],
    pub(super) scales: &'a mut [u8],
    /// Zero points, of which eight rows make words; and groups of a row.
    pub(super) zeros: Option<(&'a mut [u8], usize)>,
}

impl<C: Coding<P>, P> Task for Encode<'_, C, P> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(mut self, _: I) {
        let [group, codes, scale] = self.group.map(|len| len.max(1));
        let outs = self.codes.chunks_mut(codes).zip(self.scales.chunks_mut(scale));
        for (at, (values, (codes, scale))) in self.values.chunks(group).zip(outs).enumerate() {
            let zero = self.coding.encode(values, codes, scale);
            if let Some((zeros, groups)) = &mut self.zeros {
                put_zero(zeros, *groups, at, zero);
            }
        }
    }
}

/// The zero point of a group, from the words of eight rows.
pub(super) fn zero_at(zeros: &[u8], groups: usize, at: usize) -> f32 {
    let (row, column) = (at / groups.max(1), at % groups.max(1));
    let byte = zeros.get(((row / 8) * groups + column) * 4 + row % 8 / 2).copied().unwrap_or(0);
    f32::from(byte >> (4 * (row % 2)) & 15) - 8.0
}

/// Puts the zero point of a group where the words of eight rows have it.
fn put_zero(zeros: &mut [u8], groups: usize, at: usize, zero: i8) {
    let (row, column) = (at / groups.max(1), at % groups.max(1));
    let byte = ((row / 8) * groups + column) * 4 + row % 8 / 2;
    let nibble = (zero + 8).cast_unsigned() & 15;
    if let Some(byte) = zeros.get_mut(byte) {
        *byte |= nibble << (4 * (row % 2));
    }
}

/// The least and the largest number, or zero.
#[inline(always)]
fn extremes(values: &[f32]) -> (f32, f32) {
    // Bits as integers that are in the order of the numbers; the same step leads back.
    let ordered = |bits: i32| bits ^ ((bits >> 31).cast_unsigned() >> 1).cast_signed();
    let ends = values.iter().fold((0, 0), |(least, most): (i32, i32), value| {
        let key = ordered(value.to_bits().cast_signed());
        (least.min(key), most.max(key))
    });
    let number = |key| f32::from_bits(ordered(key).cast_unsigned());
    (number(ends.0), number(ends.1))
}

/// The nearest whole number of one byte, the even one of two; -128 to 127 must be.
#[inline(always)]
fn nearest(value: f32) -> u8 {
    // The sum has the step of one, and the whole number in its low bits.
    (value + 12_582_912.0).to_bits().to_le_bytes()[0]
}

/// C's comparison, which the compiler makes one instruction of.
#[inline(always)]
fn clamp(value: f32, least: f32, most: f32) -> f32 {
    let value = if value < least { least } else { value };
    if value > most { most } else { value }
}

/// Scales of the weight's own type.
#[inline(always)]
fn scale_of<P: Precision>(scale: f32, out: &mut [u8]) -> f32 {
    let scale = if scale == 0.0 { P::EPSILON } else { scale };
    P::write(scale, out);
    scale
}

/// E4M3.
pub(super) struct Floats;

impl<P: Precision> Coding<P> for Floats {
    #[inline(always)]
    fn encode(&self, values: &[f32], codes: &mut [u8], scale: &mut [u8]) -> i8 {
        let scale = scale_of::<P>(P::round(largest(values) / 448.0), scale);
        quotients::<P>(values, scale, codes);
        0
    }
}

/// Integers of eight bits, with an offset.
pub(super) struct Bytes<const OFFSET: u8>;

impl<P: Precision, const OFFSET: u8> Coding<P> for Bytes<OFFSET> {
    #[inline(always)]
    fn encode(&self, values: &[f32], codes: &mut [u8], scale: &mut [u8]) -> i8 {
        let scale = scale_of::<P>(P::round(largest(values) / 127.5), scale);
        bytes(values, codes, |value| {
            nearest(clamp(P::round_number(value / scale), -128.0, 127.0)).wrapping_add(OFFSET)
        });
        0
    }
}

/// Integers of four bits.
pub(super) struct Nibbles;

impl<P: Precision> Coding<P> for Nibbles {
    #[inline(always)]
    fn encode(&self, values: &[f32], codes: &mut [u8], scale: &mut [u8]) -> i8 {
        let scale = scale_of::<P>(P::round(largest(values) / 7.5), scale);
        nibbles(values, codes, |value| {
            nearest(clamp(P::round_number(value / scale), -8.0, 7.0)).wrapping_add(8)
        });
        0
    }
}

/// Integers of four bits with a zero point.
pub(super) struct Shifted;

impl<P: Precision> Coding<P> for Shifted {
    #[inline(always)]
    fn encode(&self, values: &[f32], codes: &mut [u8], scale: &mut [u8]) -> i8 {
        let (least, most) = extremes(values);
        let step = P::round(P::round(most - least) / 15.0);
        let zero = P::round(-8.0 - P::round(least / step));
        // Of a group of zeros this is not a number, which becomes zero.
        let zero = if zero.is_nan() { 0.0 } else { clamp(zero, -8.0, 7.0).round_ties_even() };
        let scale = scale_of::<P>(step, scale);
        nibbles(values, codes, |value| {
            let shifted = P::round_number(P::round_number(value / scale) + zero);
            nearest(clamp(shifted, -8.0, 7.0)).wrapping_add(8)
        });
        nearest(zero).cast_signed()
    }
}

/// The exponent of a group's scale, and the scale.
#[inline(always)]
fn power<P: Precision>(values: &[f32], offset: i32) -> (u8, f32) {
    let bits = P::bits(largest(values)) + (1 << (P::FRACTION - 2));
    let bias = if P::TINY == f32::MIN_POSITIVE { 127 } else { 15 };
    let exponent = (bits >> P::FRACTION).cast_signed();
    let byte = if exponent == 0 { 0 } else { (exponent - bias + 127 - offset).clamp(0, 255) };
    let byte = byte.to_le_bytes()[0];
    let scale = P::round(crate::simd::small_floats::e8m0(byte));
    if scale == 0.0 { (127, 1.0) } else { (byte, scale) }
}

/// E2M1 with exponents.
pub(super) struct Mxfp4;

impl<P: Precision> Coding<P> for Mxfp4 {
    #[inline(always)]
    fn encode(&self, values: &[f32], codes: &mut [u8], scale: &mut [u8]) -> i8 {
        let (byte, power) = power::<P>(values, 2);
        scale.fill(byte);
        nibbles(values, codes, |value| to_e2m1(P::round_number(value / power)));
        0
    }
}

/// E4M3 with exponents.
pub(super) struct Mxfp8;

impl<P: Precision> Coding<P> for Mxfp8 {
    #[inline(always)]
    fn encode(&self, values: &[f32], codes: &mut [u8], scale: &mut [u8]) -> i8 {
        let (byte, power) = power::<P>(values, 8);
        scale.fill(byte);
        quotients::<P>(values, power, codes);
        0
    }
}

/// E2M1 with two levels of scales.
pub(super) struct Nvfp4 {
    pub(super) global: f32,
}

impl<P: Precision> Coding<P> for Nvfp4 {
    #[inline(always)]
    fn encode(&self, values: &[f32], codes: &mut [u8], scale: &mut [u8]) -> i8 {
        const EIGHTH: u8 = 0x20;
        let nearest = to_e4m3(self.global * P::round(largest(values) / 6.0));
        let byte = if nearest == 0 { EIGHTH } else { nearest };
        scale.fill(byte);
        let step = e4m3(byte) / self.global;
        nibbles(values, codes, |value| to_e2m1(value / step));
        0
    }
}

/// The factor that brings the scales of groups into the range of E4M3.
pub(super) fn global_scale<P: Precision>(largest: f32) -> f32 {
    let largest = if largest < P::TINY { P::TINY } else { largest };
    // torch divides a number by a tensor so.
    let global = P::round(P::round(1.0 / largest) * (448.0 * 6.0));
    if global.is_finite() { global } else { 1.0 }
}
