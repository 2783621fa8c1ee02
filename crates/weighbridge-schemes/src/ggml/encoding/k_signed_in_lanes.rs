//! The encodings of `k_signed.rs`, sixteen groups at a time.

use super::k_signed::{GROUPS, Scaled, choose};
use crate::ggml::kernel::Rows;
use crate::ggml::search::side_by_side::{self, LargeBatch, LargeBatches, lanes, sixteen};
use crate::ggml::search::signed::Signed;
use crate::ggml::search::{important, near, sum};
use crate::simd::Isa;
use crate::simd::vector::{Choice, LANES, Mask, Parallel, Vector};

/// [`define`](super::k_signed::define) with a set of instructions.
#[inline(always)]
pub(in crate::ggml) fn encode<I: Isa, T: Scaled<BYTES>, const BYTES: usize>(
    isa: I,
    rows: Rows<'_>,
    out: &mut [[u8; BYTES]],
) {
    let mut batches = LargeBatches::of(rows);
    let mut out = out.chunks_mut(LANES);
    while let (Some(batch), Some(out)) = (batches.next(), out.next()) {
        let variances = match (batch.importance, T::VARIANCES) {
            (Some(_), Some(often)) => batch.squares(isa).map(|squares| often * squares / 256.0),
            _ => [0.0; LANES],
        };
        let (mut scales, mut sums) = ([[0.0; GROUPS]; LANES], [[0.0; GROUPS]; LANES]);
        for block in 0..batch.blocks {
            (scales[block], sums[block]) = search::<I, T, BYTES>(isa, batch, block, &variances);
        }
        let sums = batch.importance.map(|_| &sums);
        let empty = T::put_all_scales(isa, out, &scales, sums);
        for (at, block) in out.iter_mut().enumerate() {
            match empty & 1 << at {
                0 => put_codes::<I, T, BYTES>(isa, batch, at, &variances, block),
                _ => *block = [0; BYTES],
            }
        }
    }
}

/// The scales of a block's groups, and the sums of their weights.
#[inline(always)]
fn search<I: Isa, T: Scaled<BYTES>, const BYTES: usize>(
    isa: I,
    batch: LargeBatch<'_>,
    block: usize,
    variances: &[f32; LANES],
) -> ([f32; GROUPS], [f32; GROUPS]) {
    let values = sixteen::<I, 16>(isa, batch.block(block));
    let zero = values[0].same(0.0);
    let (mut sums, mut weights) = (zero, [zero; 16]);
    if let Some(importance) = batch.importance {
        weights = sixteen::<I, 16>(isa, &importance[block * 256..]);
        if T::VARIANCES.is_some() {
            let variance = zero.same(variances[block]);
            weights = side_by_side::important(&values, &weights, variance);
            for weight in weights {
                sums = sums + weight;
            }
        }
    }
    let (scales, left) = T::groups_in_lanes(&values, batch.importance.map(|_| &weights));
    let (mut scales, mut sums) = (lanes(scales), lanes(sums));
    if left.any() {
        let left = left.bits();
        for group in (0..GROUPS).filter(|lane| left & 1 << lane != 0) {
            let (one, sum) = define_group::<T, BYTES>(batch, block * GROUPS + group, variances);
            (scales[group], sums[group]) = (one.scale, sum);
        }
    }
    (scales, sums)
}

/// What the definition finds for a group of a batch, and the sum of its weights.
#[inline(never)]
fn define_group<T: Scaled<BYTES>, const BYTES: usize>(
    batch: LargeBatch<'_>,
    group: usize,
    variances: &[f32; LANES],
) -> (Signed<16>, f32) {
    let values = batch.group::<16>(group);
    let Some(importance) = batch.importance_of::<16>(group) else {
        return (T::define_group(values, None), 0.0);
    };
    let weights = match T::VARIANCES {
        Some(_) => important(values, importance, variances[group / GROUPS]),
        None => *importance,
    };
    (T::define_group(values, Some(&weights)), sum(&weights))
}

/// Stores the codes of a block of a batch.
#[inline(always)]
fn put_codes<I: Isa, T: Scaled<BYTES>, const BYTES: usize>(
    isa: I,
    batch: LargeBatch<'_>,
    at: usize,
    variances: &[f32; LANES],
    block: &mut [u8; BYTES],
) {
    let mut codes = [0; 256];
    let scales = T::scales(block);
    for (part, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let values = &batch.block(at).as_chunks::<32>().0[part];
        let scales = [scales[2 * part], scales[2 * part + 1]];
        if choose_in_lanes(isa, T::MOST, values, scales, codes) {
            continue;
        }
        for (group, codes) in codes.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let index = at * GROUPS + part * 2 + group;
            *codes = match scales[group] {
                0.0 => define_group::<T, BYTES>(batch, index, variances).0.codes,
                scale => choose(T::MOST, batch.group(index), scale),
            };
        }
    }
    T::put_codes(block, &codes);
}

/// [`choose`] for two groups; false if that is left to the definition.
#[inline(always)]
fn choose_in_lanes<I: Isa>(
    isa: I,
    most: i16,
    values: &[f32; 32],
    scales: [f32; 2],
    codes: &mut [u8; 32],
) -> bool {
    let (zero, most) = (isa.splat(0.0), isa.splat(f32::from(most)));
    let (above, below) = (most - isa.splat(1.0), zero - most);
    let mut levels = [zero; 4];
    let mut all = zero.equals(zero);
    for (at, (level, values)) in levels.iter_mut().zip(values.as_chunks().0).enumerate() {
        let scaled = isa.load(values) / isa.splat(scales[at / 2]);
        all = all.and(near(scaled));
        *level = scaled.round().min(above).max(below) + most;
    }
    *codes = I::Vector::low_bytes(levels);
    all.all()
}
