//! Blocks in batches, and their groups in lanes.

use crate::ggml::kernel::Rows;
use crate::simd::Isa;
use crate::simd::pair::Pair;
use crate::simd::vector::{LANES, Parallel, Vector};

/// Groups that are searched at a time.
pub(in crate::ggml) const GROUPS: usize = 2 * LANES;

/// Takes rows apart into batches of blocks; zeros fill up the last.
///
/// A block has `BLOCK` numbers, a batch `BATCH`.
pub(in crate::ggml) struct Batches<'a, const BLOCK: usize, const BATCH: usize> {
    rows: Rows<'a>,
    /// The next block.
    next: usize,
    values: [f32; BATCH],
    importance: [f32; BATCH],
}

/// Eight blocks of 256.
pub(in crate::ggml) type LargeBatches<'a> = Batches<'a, 256, 2048>;
pub(in crate::ggml) type LargeBatch<'a> = Batch<'a, 256, 2048>;

/// Sixteen blocks of 32.
pub(in crate::ggml) type SmallBatches<'a> = Batches<'a, 32, 512>;
pub(in crate::ggml) type SmallBatch<'a> = Batch<'a, 32, 512>;

/// Some blocks.
#[derive(Clone, Copy)]
pub(in crate::ggml) struct Batch<'a, const BLOCK: usize, const BATCH: usize> {
    pub(in crate::ggml) values: &'a [f32; BATCH],
    pub(in crate::ggml) importance: Option<&'a [f32; BATCH]>,
    /// How many of them there are.
    pub(in crate::ggml) blocks: usize,
}

impl<'a, const BLOCK: usize, const BATCH: usize> Batches<'a, BLOCK, BATCH> {
    #[inline(always)]
    pub(in crate::ggml) fn of(rows: Rows<'a>) -> Self {
        Self { rows, next: 0, values: [0.0; BATCH], importance: [0.0; BATCH] }
    }

    #[inline(always)]
    pub(in crate::ggml) fn next(&mut self) -> Option<Batch<'_, BLOCK, BATCH>> {
        let rest = &self.rows.values[self.next * BLOCK..];
        if rest.is_empty() {
            return None;
        }
        let blocks = (rest.len() / BLOCK).min(BATCH / BLOCK);
        let values = match rest.first_chunk() {
            Some(whole) => whole,
            None => {
                self.values = [0.0; BATCH];
                self.values[..rest.len()].copy_from_slice(rest);
                &self.values
            }
        };
        let importance = self.rows.importance.map(|all| {
            let in_row = self.next % (self.rows.columns / BLOCK) * BLOCK;
            all[in_row..].first_chunk().unwrap_or_else(|| {
                fill_around(&mut self.importance, all, in_row);
                &self.importance
            })
        });
        self.next += blocks;
        Some(Batch { values, importance, blocks })
    }
}

impl<const BLOCK: usize, const BATCH: usize> Batch<'_, BLOCK, BATCH> {
    /// A block's numbers.
    #[inline(always)]
    pub(in crate::ggml) fn block(&self, at: usize) -> &[f32; BLOCK] {
        &self.values.as_chunks().0[at]
    }

    /// Group `at`.
    #[inline(always)]
    pub(in crate::ggml) fn group<const N: usize>(&self, at: usize) -> &[f32; N] {
        &self.values.as_chunks().0[at]
    }

    /// The importance of the columns of group `at`.
    #[inline(always)]
    pub(in crate::ggml) fn importance_of<const N: usize>(&self, at: usize) -> Option<&[f32; N]> {
        self.importance.map(|all| &all.as_chunks().0[at])
    }
}

impl LargeBatch<'_> {
    /// The sum of the squares of each block.
    #[inline(always)]
    pub(in crate::ggml) fn squares<I: Isa>(&self, isa: I) -> [f32; LANES] {
        let mut sum = isa.splat(0.0);
        for at in (0..256).step_by(LANES) {
            for value in turned(isa, self.values, at, 256) {
                sum = sum + value * value;
            }
        }
        sum.lanes()
    }
}

/// Takes what follows from `at` on, and begins again at the end.
#[inline(always)]
fn fill_around(to: &mut [f32], from: &[f32], at: usize) {
    let (mut to, mut rest) = (to, &from[at..]);
    while !to.is_empty() {
        let count = to.len().min(rest.len());
        let (now, later) = to.split_at_mut(count);
        now.copy_from_slice(&rest[..count]);
        (to, rest) = (later, from);
    }
}

/// Eight numbers of each of eight groups, from `at` on, as eight vectors with a lane for each group.
#[inline(always)]
pub(in crate::ggml) fn turned<I: Isa>(
    isa: I,
    values: &[f32],
    at: usize,
    size: usize,
) -> [I::Vector; LANES] {
    let mut rows = [isa.splat(0.0); LANES];
    for (row, to) in rows.iter_mut().enumerate() {
        if let Some(eight) = values[row * size + at..].first_chunk() {
            *to = isa.load(eight);
        }
    }
    I::Vector::transposed(rows)
}

/// Eight groups, one in each lane.
#[inline(always)]
pub(in crate::ggml) fn eight<I: Isa, const N: usize>(
    isa: I,
    values: &[[f32; N]],
) -> [I::Vector; N] {
    let mut groups = [isa.splat(0.0); N];
    for (at, to) in groups.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        *to = turned(isa, values.as_flattened(), at * LANES, N);
    }
    groups
}

/// Sixteen groups, one in each lane.
#[inline(always)]
pub(in crate::ggml) fn sixteen<I: Isa, const N: usize>(
    isa: I,
    values: &[f32],
) -> [Pair<I::Vector>; N] {
    let zero = isa.splat(0.0);
    let mut groups = [Pair(zero, zero); N];
    for at in (0..N).step_by(LANES) {
        let first = turned(isa, values, at, N);
        let second = turned(isa, &values[LANES * N..], at, N);
        for (to, (first, second)) in groups[at..].iter_mut().zip(first.into_iter().zip(second)) {
            *to = Pair(first, second);
        }
    }
    groups
}

/// How much numbers in lanes matter, by the importance of their columns.
#[inline(always)]
pub(in crate::ggml) fn important<P: Parallel, const N: usize>(
    values: &[P; N],
    importance: &[P; N],
    variance: P,
) -> [P; N] {
    let mut weights = *values;
    for at in 0..N {
        weights[at] = importance[at] * (variance + values[at] * values[at]).sqrt();
    }
    weights
}

/// A number for each of sixteen lanes.
#[inline(always)]
pub(in crate::ggml) fn pair<I: Isa>(isa: I, of: impl Fn(usize) -> f32) -> Pair<I::Vector> {
    let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        first[lane] = of(lane);
        second[lane] = of(lane + LANES);
    }
    Pair(isa.vector(first), isa.vector(second))
}

/// The lanes of a pair.
#[inline(always)]
pub(in crate::ggml) fn lanes<V: Vector>(pair: Pair<V>) -> [f32; GROUPS] {
    let mut all = [0.0; GROUPS];
    let (first, second) = all.split_at_mut(LANES);
    first.copy_from_slice(&pair.0.lanes());
    second.copy_from_slice(&pair.1.lanes());
    all
}

/// The lowest bytes of what `scaled` makes of 32 numbers.
#[inline(always)]
pub(in crate::ggml) fn bytes<I: Isa>(
    isa: I,
    values: &[f32; 32],
    scaled: impl Fn(I::Vector) -> I::Vector,
) -> [u8; 32] {
    let mut all = [isa.splat(0.0); 4];
    for (to, eight) in all.iter_mut().zip(values.as_chunks().0) {
        *to = scaled(isa.load(eight));
    }
    I::Vector::low_bytes(all)
}
