//! The encodings of `simple.rs` where importance is known, sixteen blocks at a time.

use super::simple::{Kind, Simple, define_weighted, put_scales, trials};
use crate::ggml::kernel::Rows;
use crate::ggml::search::side_by_side::{
    GROUPS, SmallBatch, SmallBatches, bytes, important, lanes, pair, sixteen, turned,
};
use crate::ggml::search::{minimum, signed, squares};
use crate::simd::Isa;
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
    let found = match T::KIND {
        Kind::Signed(most) => signed::in_lanes(f32::from(most), &groups, &weights),
        Kind::Minimum(most) => minimum::in_lanes(&trials(most), &groups, &weights),
    };
    let [scales, minimums, origins, inverses] =
        [lanes(found.scale), lanes(found.min), lanes(found.origin), lanes(found.inverse)];
    let (empty, left) = (found.empty.bits(), found.left.bits());
    let blocks = out.iter_mut().zip(batch.values.as_chunks::<32>().0);
    for (at, (block, values)) in blocks.enumerate() {
        if left & 1 << at != 0 {
            let importance = &importance[at * 32..][..32];
            define_weighted::<T, BYTES>(values, importance, variances[at], block);
            continue;
        }
        put_scales(block, T::KIND, [scales[at], minimums[at]]);
        let (origin, inverse) = (isa.splat(origins[at]), isa.splat(inverses[at]));
        let (above, below, zero) = match T::KIND {
            Kind::Signed(most) => (f32::from(most) - 1.0, -f32::from(most), f32::from(most)),
            Kind::Minimum(most) => (f32::from(most), 0.0, 0.0),
        };
        let (above, below, zero) = (isa.splat(above), isa.splat(below), isa.splat(zero));
        let mut codes = bytes(isa, values, |value| {
            (inverse * (value - origin)).round().min(above).max(below) + zero
        });
        if empty & 1 << at != 0 {
            codes = [0; 32];
        }
        T::put(block, &codes);
    }
}
