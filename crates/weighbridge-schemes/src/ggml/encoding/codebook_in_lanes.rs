//! The encodings of `codebook.rs`, sixteen groups at a time.

#[cfg(test)]
use super::codebook::{define_large, define_small};
use super::codebook::{define_scale, define_weights, inverse, put_scales};
use crate::ggml::codebook::{Iq4Nl, Iq4Xs, STEPS};
use crate::ggml::kernel::{Encodes, Rows};
use crate::ggml::search::side_by_side::{self, LargeBatches, SmallBatches, lanes, pair, sixteen};
use crate::ggml::search::{NOTHING, farthest_in_lanes, finite_in_lanes, half, squared};
use crate::simd::Isa;
use crate::simd::pair::Pair;
use crate::simd::steps::Steps;
use crate::simd::vector::{Choice, LANES, Parallel, Vector};

/// The steps, to be looked up.
static TABLE: Steps = Steps::of(STEPS);

impl Encodes<Self, 18, 32> for Iq4Nl {
    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; 18]]) {
        define_small(row, importance, out);
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 18]]) {
        let mut batches = SmallBatches::of(rows);
        let mut out = out.chunks_mut(side_by_side::GROUPS);
        while let (Some(batch), Some(out)) = (batches.next(), out.next()) {
            let values = sixteen::<I, 32>(isa, batch.values);
            let mut squares = values[0].same(0.0);
            for value in values {
                squares = squares + value * value;
            }
            let variances = lanes(squares * squares.same(2.0 / 32.0));
            let importance = batch.importance.map(|all| &all[..]);
            let scales = scales(isa, &values, batch.values, importance, &variances);
            for ((block, scale), values) in
                out.iter_mut().zip(scales).zip(batch.values.as_chunks().0)
            {
                block[..2].copy_from_slice(&half(scale).to_le_bytes());
                put_nibbles(isa, values, inverse(scale), &mut block[2..]);
            }
        }
    }
}

impl Encodes<Self, 136, 256> for Iq4Xs {
    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; 136]]) {
        define_large(row, importance, out);
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; 136]]) {
        let mut batches = LargeBatches::of(rows);
        let mut out = out.chunks_mut(LANES);
        while let (Some(batch), Some(out)) = (batches.next(), out.next()) {
            let variances = match batch.importance {
                Some(_) => batch.squares(isa).map(|squares| squares * (2.0 / 256.0)),
                None => [0.0; LANES],
            };
            let halves = batch.values.as_chunks::<512>().0;
            for (at, (values, out)) in halves.iter().zip(out.chunks_mut(2)).enumerate() {
                let importance = batch.importance.map(|all| &all[at * 512..][..512]);
                let variances = std::array::from_fn(|lane| variances[at * 2 + lane / LANES]);
                let groups = sixteen::<I, 32>(isa, values);
                let scales = scales(isa, &groups, values, importance, &variances);
                let scales = scales.as_chunks::<LANES>().0;
                for ((block, scales), values) in
                    out.iter_mut().zip(scales).zip(values.as_chunks::<256>().0)
                {
                    let scales = put_scales(block, scales);
                    let groups = values.as_chunks::<32>().0.iter().zip(scales);
                    for ((values, scale), out) in groups.zip(block[8..].chunks_exact_mut(16)) {
                        put_nibbles(isa, values, inverse(scale), out);
                    }
                }
            }
        }
    }
}

/// The scales of sixteen groups.
#[inline(always)]
fn scales<I: Isa>(
    isa: I,
    groups: &[Pair<I::Vector>; 32],
    values: &[f32],
    importance: Option<&[f32]>,
    variances: &[f32; 16],
) -> [f32; 16] {
    let weights = match importance {
        Some(importance) => {
            let variance = pair(isa, |lane| variances[lane]);
            side_by_side::important(groups, &sixteen::<I, 32>(isa, importance), variance)
        }
        None => squared(groups),
    };
    let (scales, left) = search(groups, &weights);
    let mut scales = lanes(scales);
    if left.any() {
        let left = left.bits();
        for group in (0..16).filter(|lane| left & 1 << lane != 0) {
            let values = &values.as_chunks::<32>().0[group];
            let importance = importance.map(|all| &all[group * 32..][..32]);
            let weights = define_weights(values, importance, variances[group]);
            scales[group] = define_scale(values, &weights);
        }
    }
    scales
}

/// [`define_scale`] for groups in lanes, and where it is left to the definition.
#[inline(always)]
fn search<V: Vector>(values: &[Pair<V>; 32], weights: &[Pair<V>; 32]) -> (Pair<V>, Pair<V::Mask>) {
    let zero = values[0].same(0.0);
    let (size, of) = farthest_in_lanes(values);
    let empty = size.less(zero.same(NOTHING));
    let of = zero.same(1.0).or(of, empty);
    let first = f32::from(STEPS[0]);
    let (products, squares) =
        sums(values, weights, zero.same(1.0) / ((zero - of) / zero.same(first)));
    let mut scale = (products / squares).or(zero, zero.less(squares));
    let mut best = scale * products;
    for tried in -7i8..=7 {
        let inverse = zero.same(f32::from(tried) + first) / of;
        let (products, squares) = sums(values, weights, inverse);
        let better = zero.less(squares).and((best * squares).less(products * products));
        scale = (products / squares).or(scale, better);
        best = (scale * products).or(best, better);
    }
    (zero.or(scale, empty), finite_in_lanes(values).not())
}

/// Weighted sums of products of numbers and steps, and of squares of steps.
#[inline(always)]
fn sums<V: Vector>(
    values: &[Pair<V>; 32],
    weights: &[Pair<V>; 32],
    inverse: Pair<V>,
) -> (Pair<V>, Pair<V>) {
    let twice = inverse + inverse;
    let mut sums = (inverse.same(0.0), inverse.same(0.0));
    let two = values.as_chunks::<2>().0.iter().zip(weights.as_chunks::<2>().0);
    for (values, weights) in two {
        let (Pair(a, b), Pair(c, d)) = (twice * values[0], twice * values[1]);
        let [a, b, c, d] = V::nearest_steps([a, b, c, d], &TABLE);
        let (first, second) = (weights[0] * Pair(a, b), weights[1] * Pair(c, d));
        sums.0 = sums.0 + first * values[0] + second * values[1];
        sums.1 = sums.1 + first * Pair(a, b) + second * Pair(c, d);
    }
    sums
}

/// `define_nibbles` with a set of instructions.
#[inline(always)]
fn put_nibbles<I: Isa>(isa: I, values: &[f32; 32], inverse: f32, out: &mut [u8]) {
    let inverse = isa.splat(inverse);
    let mut twice = [inverse; 4];
    for (twice, eight) in twice.iter_mut().zip(values.as_chunks().0) {
        let scaled = inverse * isa.load(eight);
        // What is no number becomes a large one.
        *twice = (scaled + scaled).min(isa.splat(512.0)).max(isa.splat(-512.0));
    }
    let codes = I::Vector::nearest_codes(twice, &TABLE);
    for (at, byte) in out.iter_mut().enumerate() {
        *byte = codes[at] | codes[at + 16] << 4;
    }
}
