//! The encodings of `simple.rs`, eight blocks at a time.

use half::f16;

use super::simple::{Kind, Simple, define, define_bytes};
use super::simple_by_importance::encode_by_importance;
use crate::ggml::kernel::{Encodes, Rows};
use crate::ggml::search::side_by_side::bytes;
use crate::ggml::search::{farthest, half};
use crate::simd::Isa;
use crate::simd::vector::{Choice, LANES, Mask, Parallel, Vector};

/// Eight blocks.
const EIGHT: usize = 8 * 32;

/// How the types with few bits are encoded.
pub(in crate::ggml) struct FirstGeneration;

impl<T: Simple<BYTES>, const BYTES: usize> Encodes<T, BYTES, 32> for FirstGeneration {
    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; BYTES]]) {
        define::<T, BYTES>(row, importance, out);
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; BYTES]]) {
        if rows.importance.is_some() {
            return encode_by_importance::<I, T, BYTES>(isa, rows, out);
        }
        let (values, values_left) = rows.values.as_chunks::<EIGHT>();
        let (blocks, blocks_left) = out.as_chunks_mut::<LANES>();
        for (values, blocks) in values.iter().zip(blocks) {
            match T::KIND {
                Kind::Signed(most) => encode_signed::<I, T, BYTES>(isa, most, values, blocks),
                Kind::Minimum(most) => encode_minimum::<I, T, BYTES>(isa, most, values, blocks),
            }
        }
        define::<T, BYTES>(values_left, None, blocks_left);
    }
}

/// One number of each of eight blocks, which `merge` makes of all their numbers.
#[inline(always)]
fn merged<I: Isa>(
    isa: I,
    values: &[f32; EIGHT],
    start: f32,
    merge: impl Fn(I::Vector, I::Vector) -> I::Vector,
) -> I::Vector {
    let mut rows = [isa.splat(start); LANES];
    for (row, values) in rows.iter_mut().zip(values.as_chunks::<32>().0) {
        for eight in values.as_chunks().0 {
            *row = merge(isa.load(eight), *row);
        }
    }
    let [first, others @ ..] = I::Vector::transposed(rows);
    let mut all = first;
    for other in others {
        all = merge(other, all);
    }
    all
}

/// Half precision of eight numbers.
#[inline(always)]
fn halves<I: Isa>(isa: I, values: &[f32; LANES]) -> [[u8; 2]; LANES] {
    let mut narrowed = [f16::ZERO; LANES];
    isa.narrow(values, &mut narrowed);
    let mut bytes = [[0; 2]; LANES];
    for ((bytes, narrowed), &value) in bytes.iter_mut().zip(narrowed).zip(values) {
        *bytes = if value.is_nan() { half(value) } else { narrowed }.to_le_bytes();
    }
    bytes
}

/// The inverse of each scale, or zero.
#[inline(always)]
fn inverses<V: Vector>(scales: V) -> [f32; LANES] {
    let zero = scales.same(0.0);
    zero.or(scales.same(1.0) / scales, scales.equals(zero)).lanes()
}

/// Cuts codes, which are signed for that.
#[inline(always)]
fn cut(codes: [u8; 32], most: i8) -> [u8; 32] {
    codes.map(|code| code.cast_signed().min(most).cast_unsigned())
}

#[inline(always)]
fn encode_signed<I: Isa, T: Simple<BYTES>, const BYTES: usize>(
    isa: I,
    most: i16,
    values: &[f32; EIGHT],
    blocks: &mut [[u8; BYTES]; LANES],
) {
    let zero = isa.splat(0.0);
    let largest = merged(isa, values, 0.0, I::Vector::max);
    let smallest = merged(isa, values, 0.0, I::Vector::min);
    let below = zero - smallest;
    let tied = largest.equals(below).and(zero.less(largest)).bits();
    let mut of = largest.or(zero, below.less(largest));
    of = smallest.or(of, largest.less(below));
    if tied != 0 {
        let mut lanes = of.lanes();
        for (at, lane) in lanes.iter_mut().enumerate().filter(|(at, _)| tied & 1 << at != 0) {
            *lane = farthest(&values.as_chunks::<32>().0[at]).1;
        }
        of = isa.vector(lanes);
    }
    let scales = of / isa.splat(-f32::from(most));
    let (halves, inverses) = (halves(isa, &scales.lanes()), inverses(scales));
    let middle = isa.splat(f32::from(most) + 0.5);
    for (at, (block, values)) in blocks.iter_mut().zip(values.as_chunks::<32>().0).enumerate() {
        block[..2].copy_from_slice(&halves[at]);
        let inverse = isa.splat(inverses[at]);
        let codes = bytes(isa, values, |value| value * inverse + middle);
        T::put(block, &cut(codes, if most == 8 { 15 } else { 31 }));
    }
}

#[inline(always)]
fn encode_minimum<I: Isa, T: Simple<BYTES>, const BYTES: usize>(
    isa: I,
    most: u8,
    values: &[f32; EIGHT],
    blocks: &mut [[u8; BYTES]; LANES],
) {
    let largest = merged(isa, values, f32::MIN, I::Vector::max);
    let smallest = merged(isa, values, f32::MAX, I::Vector::min);
    if smallest.equals(isa.splat(0.0)).any() {
        // Which of two zeros is the smallest is told by their order.
        return define::<T, BYTES>(values, None, blocks);
    }
    let scales = (largest - smallest) / isa.splat(f32::from(most));
    let minimums = smallest.lanes();
    let (minimum_halves, halves) = (halves(isa, &minimums), halves(isa, &scales.lanes()));
    let inverses = inverses(scales);
    for (at, (block, values)) in blocks.iter_mut().zip(values.as_chunks::<32>().0).enumerate() {
        block[..2].copy_from_slice(&halves[at]);
        block[2..4].copy_from_slice(&minimum_halves[at]);
        let (inverse, minimum) = (isa.splat(inverses[at]), isa.splat(minimums[at]));
        let codes = bytes(isa, values, |value| (value - minimum) * inverse + isa.splat(0.5));
        match most {
            15 => T::put(block, &cut(codes, 15)),
            _ => T::put(block, &codes),
        }
    }
}

/// How signed bytes behind a scale are encoded.
pub(in crate::ggml) struct ScaledBytes;

impl<T> Encodes<T, 34, 32> for ScaledBytes {
    #[cfg(test)]
    fn define_encoding(row: &[f32], _: Option<&[f32]>, out: &mut [[u8; 34]]) {
        define_bytes(row, out);
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 34]]) {
        // The largest number below one half.
        let half = isa.splat(0.499_999_97);
        let zero = isa.splat(0.0);
        let (values, values_left) = rows.values.as_chunks::<EIGHT>();
        let (blocks, blocks_left) = out.as_chunks_mut::<LANES>();
        for (values, blocks) in values.iter().zip(blocks) {
            let nothing = merged(isa, values, 0.0, |value, all| all + value * zero);
            if !nothing.equals(zero).all() {
                define_bytes(values, blocks);
                continue;
            }
            let scales =
                merged(isa, values, 0.0, |value, most| value.abs().max(most)) / isa.splat(127.0);
            let (halves, inverses) = (halves(isa, &scales.lanes()), inverses(scales));
            for (at, (block, values)) in
                blocks.iter_mut().zip(values.as_chunks::<32>().0).enumerate()
            {
                let inverse = isa.splat(inverses[at]);
                let codes = bytes(isa, values, |value| {
                    let scaled = value * inverse;
                    scaled + half.signed_as(scaled)
                });
                block[..2].copy_from_slice(&halves[at]);
                block[2..].copy_from_slice(&codes);
            }
        }
        define_bytes(values_left, blocks_left);
    }
}
