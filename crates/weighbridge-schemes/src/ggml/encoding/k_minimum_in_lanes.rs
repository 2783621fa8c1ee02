//! The encodings of `k_minimum.rs`, sixteen groups at a time.

use super::k_minimum::{WithMinimums, by_largest, choose, put_scales, steps};
use crate::ggml::kernel::Rows;
use crate::ggml::search::minimum::{self, Minimum};
use crate::ggml::search::side_by_side::{self, LargeBatch, LargeBatches, lanes, pair, sixteen};
use crate::ggml::search::{important, near, positive, sum};
use crate::simd::Isa;
use crate::simd::vector::{Choice, LANES, Mask, Parallel, Vector};

/// What was found for the groups of a batch, in their order.
struct Found {
    scales: [f32; 128],
    below: [f32; 128],
    /// Sums of weights.
    weights: [f32; 128],
}

/// [`define`](super::k_minimum::define) with a set of instructions.
#[inline(always)]
pub(in crate::ggml) fn encode<
    I: Isa,
    T,
    const BYTES: usize,
    const SIZE: usize,
    const GROUPS: usize,
>(
    isa: I,
    rows: Rows<'_>,
    out: &mut [[u8; BYTES]],
) where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    let mut batches = LargeBatches::of(rows);
    let mut out = out.chunks_mut(LANES);
    while let (Some(batch), Some(out)) = (batches.next(), out.next()) {
        let variances = match batch.importance {
            Some(_) => batch.squares(isa).map(|squares| T::VARIANCES * squares / 256.0),
            None => [0.0; LANES],
        };
        let found = search::<I, T, BYTES, SIZE, GROUPS>(isa, batch, &variances);
        match batch.importance {
            None => put_by_largest::<T, BYTES, SIZE, GROUPS>(&found, out),
            Some(_) => put_by_importance::<I, T, BYTES, SIZE, GROUPS>(isa, &found, out),
        }
        for (at, block) in out.iter_mut().enumerate() {
            let mut codes = [0; 256];
            let steps = steps::<T, BYTES, SIZE, GROUPS>(block);
            for (part, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
                let values = &batch.block(at).as_chunks::<32>().0[part];
                let groups = &steps[part * 32 / SIZE..][..32 / SIZE];
                if !choose_in_lanes::<I, SIZE>(isa, T::TRIALS.most, values, groups, codes) {
                    let first = (at * 256 + part * 32) / SIZE;
                    for (group, codes) in codes.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
                        *codes = match groups[group] {
                            (0.0, _) => {
                                define_group::<T, BYTES, SIZE, GROUPS>(
                                    batch,
                                    first + group,
                                    &variances,
                                )
                                .0
                                .codes
                            }
                            step => choose(T::TRIALS.most, batch.group(first + group), step),
                        };
                    }
                }
            }
            T::put_codes(block, &codes);
        }
    }
}

/// The scales and minimums of all groups of a batch.
#[inline(always)]
fn search<I: Isa, T, const BYTES: usize, const SIZE: usize, const GROUPS: usize>(
    isa: I,
    batch: LargeBatch<'_>,
    variances: &[f32; LANES],
) -> Found
where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    let mut found = Found { scales: [0.0; 128], below: [0.0; 128], weights: [0.0; 128] };
    for first in (0..batch.blocks * GROUPS).step_by(side_by_side::GROUPS) {
        let values = sixteen::<I, SIZE>(isa, &batch.values[first * SIZE..]);
        let (weights, trials) = match batch.importance {
            None => (T::weights_in_lanes(&values), &T::TRIALS),
            Some(importance) => {
                let importance = sixteen::<I, SIZE>(isa, &importance[first * SIZE..]);
                let variance = pair(isa, |lane| variances[(first + lane) / GROUPS]);
                let weights = side_by_side::important(&values, &importance, variance);
                (weights, &T::TRIALS_BY_IMPORTANCE)
            }
        };
        let these = minimum::in_lanes(trials, &values, &weights);
        let range = first..first + side_by_side::GROUPS;
        found.scales[range.clone()].copy_from_slice(&lanes(these.scale));
        found.below[range.clone()].copy_from_slice(&lanes(these.min).map(|min| -min));
        found.weights[range].copy_from_slice(&lanes(these.weights));
        if these.left.any() {
            let left = these.left.bits();
            for group in (0..side_by_side::GROUPS).filter(|lane| left & 1 << lane != 0) {
                let at = first + group;
                let (one, weights) = define_group::<T, BYTES, SIZE, GROUPS>(batch, at, variances);
                (found.scales[at], found.below[at], found.weights[at]) =
                    (one.scale, one.below, weights);
            }
        }
    }
    found
}

/// What the definition finds for a group of a batch, and the sum of its weights.
#[inline(never)]
fn define_group<T, const BYTES: usize, const SIZE: usize, const GROUPS: usize>(
    batch: LargeBatch<'_>,
    group: usize,
    variances: &[f32; LANES],
) -> (Minimum<SIZE>, f32)
where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    let values = batch.group::<SIZE>(group);
    let (weights, trials) = match batch.importance_of::<SIZE>(group) {
        None => (T::weights(values), &T::TRIALS),
        Some(importance) => {
            let weights = important(values, importance, variances[group / GROUPS]);
            (weights, &T::TRIALS_BY_IMPORTANCE)
        }
    };
    (minimum::define(trials, values, &weights), sum(&weights))
}

/// Stores the scales of a batch, as parts of the largest.
#[inline(always)]
fn put_by_largest<T, const BYTES: usize, const SIZE: usize, const GROUPS: usize>(
    found: &Found,
    out: &mut [[u8; BYTES]],
) where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    let scales = found.scales.as_chunks::<GROUPS>().0.iter();
    for (block, both) in out.iter_mut().zip(scales.zip(found.below.as_chunks::<GROUPS>().0)) {
        let [(d, scales), (m, minimums)] = [both.0, both.1].map(|all| by_largest(T::LARGEST, all));
        let levels = [scales, minimums].map(|levels| levels.map(|level| level.min(T::CUT[0])));
        put_scales::<T, BYTES, SIZE, GROUPS>(block, [d, m], levels);
    }
}

/// Stores the scales of a batch, as importance asks.
#[inline(always)]
fn put_by_importance<I: Isa, T, const BYTES: usize, const SIZE: usize, const GROUPS: usize>(
    isa: I,
    found: &Found,
    out: &mut [[u8; BYTES]],
) where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    let [scales, minimums, weights] =
        [&found.scales, &found.below, &found.weights].map(|all| all.as_chunks::<GROUPS>().0);
    let scales = positive::eight(isa, T::LARGEST, scales, weights);
    let minimums = positive::eight(isa, T::LARGEST, minimums, weights);
    for (block, (scales, minimums)) in out.iter_mut().zip(scales.iter().zip(&minimums)) {
        let levels = [scales.codes, minimums.codes].map(|all| all.map(|code| code.min(T::CUT[1])));
        put_scales::<T, BYTES, SIZE, GROUPS>(block, [scales.scale, minimums.scale], levels);
    }
}

/// [`choose`] for 32 numbers, one or two groups; false if that is left to the definition.
#[inline(always)]
fn choose_in_lanes<I: Isa, const SIZE: usize>(
    isa: I,
    most: u8,
    values: &[f32; 32],
    steps: &[(f32, f32)],
    codes: &mut [u8; 32],
) -> bool {
    let (zero, most) = (isa.splat(0.0), isa.splat(f32::from(most)));
    let mut levels = [zero; 4];
    let mut all = zero.equals(zero);
    for (at, (level, values)) in levels.iter_mut().zip(values.as_chunks().0).enumerate() {
        let (scale, below) = steps[at * LANES / SIZE];
        let scaled = (isa.load(values) + isa.splat(below)) / isa.splat(scale);
        all = all.and(near(scaled));
        *level = scaled.round().min(most).max(zero);
    }
    *codes = I::Vector::low_bytes(levels);
    all.all()
}
