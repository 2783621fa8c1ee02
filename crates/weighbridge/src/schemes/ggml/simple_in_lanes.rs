//! The encodings of `simple_encoding.rs` with a set of instructions: eight blocks at a time, or
//! sixteen where a search is made.

use half::f16;

use super::kernel::Rows;
use super::search::side_by_side::{
    GROUPS, SmallBatch, SmallBatches, important, lanes, pair, sixteen, turned,
};
use super::search::{farthest, half, minimum, signed, squares};
use super::simple_encoding::{
    Kind, Simple, by_importance, define, define_bytes, define_weighted, put_scales,
};
use crate::simd::Isa;
use crate::simd::vector::{Choice, LANES, Mask, Pair, Parallel, Vector};

/// Eight blocks.
const EIGHT: usize = 8 * 32;

/// [`define`] with a set of instructions.
#[inline(always)]
pub(super) fn encode<I: Isa, T: Simple<BYTES>, const BYTES: usize>(
    isa: I,
    rows: Rows<'_>,
    out: &mut [[u8; BYTES]],
) {
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

/// The lowest bytes of what `scaled` makes of 32 numbers.
#[inline(always)]
fn bytes<I: Isa>(isa: I, values: &[f32; 32], scaled: impl Fn(I::Vector) -> I::Vector) -> [u8; 32] {
    let mut all = [isa.splat(0.0); 4];
    for (to, eight) in all.iter_mut().zip(values.as_chunks().0) {
        *to = scaled(isa.load(eight));
    }
    I::Vector::low_bytes(all)
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

/// [`define_bytes`] with a set of instructions.
#[inline(always)]
pub(super) fn encode_bytes<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 34]]) {
    // The largest number below one half.
    let half = isa.splat(0.499_999_97);
    let (values, values_left) = rows.values.as_chunks::<EIGHT>();
    let (blocks, blocks_left) = out.as_chunks_mut::<LANES>();
    for (values, blocks) in values.iter().zip(blocks) {
        let nothing = merged(isa, values, 0.0, |value, all| all + (value - value));
        if !nothing.equals(isa.splat(0.0)).all() {
            define_bytes(values, blocks);
            continue;
        }
        let scales =
            merged(isa, values, 0.0, |value, most| value.abs().max(most)) / isa.splat(127.0);
        let (halves, inverses) = (halves(isa, &scales.lanes()), inverses(scales));
        for (at, (block, values)) in blocks.iter_mut().zip(values.as_chunks::<32>().0).enumerate() {
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

/// The mean squares of rows, of which eight are summed at a time.
struct Variances {
    /// The first row that they are known of.
    first: usize,
    known: [f32; LANES],
    count: usize,
}

impl Variances {
    #[inline(always)]
    #[allow(clippy::cast_precision_loss)] // As ggml does it.
    fn of<I: Isa>(&mut self, isa: I, rows: Rows<'_>, row: usize) -> f32 {
        if !(self.first..self.first + self.count).contains(&row) {
            let values = &rows.values[row * rows.columns..];
            self.first = row;
            if values.len() < LANES * rows.columns {
                self.count = 1;
                self.known[0] = squares(&values[..rows.columns]);
            } else {
                let mut sum = isa.splat(0.0);
                for at in (0..rows.columns).step_by(LANES) {
                    for value in turned(isa, values, at, rows.columns) {
                        sum = sum + value * value;
                    }
                }
                self.count = LANES;
                self.known = sum.lanes();
            }
        }
        self.known[row - self.first] / rows.columns as f32
    }
}

#[inline(always)]
fn encode_by_importance<I: Isa, T: Simple<BYTES>, const BYTES: usize>(
    isa: I,
    rows: Rows<'_>,
    out: &mut [[u8; BYTES]],
) {
    let mut batches = SmallBatches::of(rows);
    let mut known = Variances { first: 0, known: [0.0; LANES], count: 0 };
    for (number, out) in out.chunks_mut(GROUPS).enumerate() {
        let Some(batch) = batches.next() else { return };
        let mut variances = [0.0; GROUPS];
        for (at, variance) in variances[..batch.blocks].iter_mut().enumerate() {
            *variance = known.of(isa, rows, (number * GROUPS + at) * 32 / rows.columns);
        }
        encode_batch::<I, T, BYTES>(isa, batch, &variances, out);
    }
}

#[inline(always)]
fn encode_batch<I: Isa, T: Simple<BYTES>, const BYTES: usize>(
    isa: I,
    batch: SmallBatch<'_>,
    variances: &[f32; GROUPS],
    out: &mut [[u8; BYTES]],
) {
    let Some(importance) = batch.importance else { return };
    let groups = sixteen::<I, 32>(isa, batch.values);
    let variance = pair(isa, |lane| variances[lane]);
    let weights = important(&groups, &sixteen::<I, 32>(isa, importance), variance);
    let found = search::<I, T, BYTES>(&groups, &weights);
    let blocks = out.iter_mut().zip(batch.values.as_chunks::<32>().0);
    for (at, (block, values)) in blocks.enumerate() {
        if found.left & 1 << at != 0 {
            let importance = &importance[at * 32..][..32];
            define_weighted::<T, BYTES>(values, importance, variances[at], block);
            continue;
        }
        put_scales(block, T::KIND, [found.scales[at], found.minimums[at]]);
        let (origin, inverse) = (isa.splat(found.origins[at]), isa.splat(found.inverses[at]));
        let (above, below, zero) = match T::KIND {
            Kind::Signed(most) => (f32::from(most) - 1.0, -f32::from(most), f32::from(most)),
            Kind::Minimum(most) => (f32::from(most), 0.0, 0.0),
        };
        let (above, below, zero) = (isa.splat(above), isa.splat(below), isa.splat(zero));
        let mut codes = bytes(isa, values, |value| {
            (inverse * (value - origin)).round().min(above).max(below) + zero
        });
        if found.empty & 1 << at != 0 {
            codes = [0; 32];
        }
        T::put(block, &codes);
    }
}

/// What was found for sixteen blocks.
struct Found {
    scales: [f32; GROUPS],
    minimums: [f32; GROUPS],
    origins: [f32; GROUPS],
    inverses: [f32; GROUPS],
    /// Blocks whose codes are zero.
    empty: u32,
    /// Blocks that are left to the definition.
    left: u32,
}

#[inline(always)]
fn search<I: Isa, T: Simple<BYTES>, const BYTES: usize>(
    groups: &[Pair<I::Vector>; 32],
    weights: &[Pair<I::Vector>; 32],
) -> Found {
    match T::KIND {
        Kind::Signed(most) => {
            let found = signed::in_lanes(f32::from(most), groups, weights);
            Found {
                scales: lanes(found.scale),
                minimums: [0.0; GROUPS],
                origins: [0.0; GROUPS],
                inverses: lanes(found.inverse),
                empty: found.empty.bits(),
                left: found.left.bits(),
            }
        }
        Kind::Minimum(most) => {
            let found = minimum::in_lanes(&by_importance(most), groups, weights);
            Found {
                scales: lanes(found.scale),
                minimums: lanes(found.min),
                origins: lanes(found.origin),
                inverses: lanes(found.inverse),
                empty: 0,
                left: found.left.bits(),
            }
        }
    }
}
