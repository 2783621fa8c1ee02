//! The encodings of `simple.rs` where importance is known, sixteen blocks at a time.

use super::simple::{Kind, Simple, by_importance, define_weighted, put_scales};
use super::simple_in_lanes::bytes;
use crate::ggml::kernel::Rows;
use crate::ggml::search::side_by_side::{
    GROUPS, SmallBatch, SmallBatches, important, lanes, pair, sixteen, turned,
};
use crate::ggml::search::{minimum, signed, squares};
use crate::simd::Isa;
use crate::simd::pair::Pair;
use crate::simd::vector::{LANES, Parallel, Vector};

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

/// Encodes rows.
#[inline(always)]
pub(super) fn encode_by_importance<I: Isa, T: Simple<BYTES>, const BYTES: usize>(
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
