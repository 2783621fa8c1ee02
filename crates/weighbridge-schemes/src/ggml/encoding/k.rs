//! Numbers into the K types: blocks of 256, cut into groups that have a scale of their own and
//! perhaps a minimum. Sixteen groups are searched at a time.

use crate::ggml::kernel::{Encodes, Rows};
use crate::ggml::search::side_by_side::{self, LargeBatch, LargeBatches, lanes, pair, sixteen};
use crate::ggml::search::{Group, important, low_byte, near, nearest, sum};
use crate::simd::Isa;
use crate::simd::vector::{Choice, LANES, Mask, Parallel, Vector};

/// What was found for the groups of a batch, in their order.
pub(in crate::ggml) struct Found {
    pub(in crate::ggml) scales: [f32; 128],
    /// How far minimums lie below zero.
    pub(in crate::ggml) below: [f32; 128],
    /// Sums of weights, where importance is known.
    pub(in crate::ggml) weights: Option<[f32; 128]>,
}

/// What the types differ in: `GROUPS` groups of `SIZE` numbers.
pub(in crate::ggml) trait Grouped<const BYTES: usize, const SIZE: usize, const GROUPS: usize> {
    /// The smallest code and the largest; they are stored from zero up.
    const CODES: [i8; 2];

    /// How often the variance of a block counts beside the square of a number where importance is
    /// known. Without, importance is all that counts.
    const VARIANCES: Option<f32>;

    /// What is looked for in a group, by how much its numbers matter if somebody says so.
    fn define_group(values: &[f32; SIZE], weights: Option<&[f32; SIZE]>) -> Group<SIZE>;

    /// The scales and minimums of groups in lanes, and which are left to the definition.
    fn groups_in_lanes<P: Parallel>(
        values: &[P; SIZE],
        weights: Option<&[P; SIZE]>,
    ) -> (P, P, P::Mask);

    /// Stores the scales of a block: the definition. Returns false if there is nothing to store.
    #[cfg(test)]
    fn define_scales(
        block: &mut [u8; BYTES],
        found: &[Group<SIZE>; GROUPS],
        weights: Option<[f32; GROUPS]>,
    ) -> bool;

    /// Stores the scales of up to eight blocks. Returns which have nothing to store.
    fn put_scales<I: Isa>(isa: I, found: &Found, out: &mut [[u8; BYTES]]) -> u8;

    /// The scale and the distance of the minimum from zero of each group, as decoding finds them.
    fn steps(block: &[u8; BYTES]) -> [(f32, f32); GROUPS];

    /// Stores the codes.
    fn put_codes(block: &mut [u8; BYTES], codes: &[u8; 256]);

    /// The definition for a block.
    #[cfg(test)]
    fn define_block(values: &[f32; 256], importance: Option<&[f32]>, block: &mut [u8; BYTES]) {
        let groups = values.as_chunks::<SIZE>().0;
        let variance =
            Self::VARIANCES.unwrap_or(0.0) * super::super::search::squares(values) / 256.0;
        let weights: Option<[[f32; SIZE]; GROUPS]> = importance.map(|importance| {
            let importance = importance.as_chunks::<SIZE>().0;
            std::array::from_fn(|at| Self::weights(&groups[at], &importance[at], variance))
        });
        let found: [Group<SIZE>; GROUPS] = std::array::from_fn(|at| {
            Self::define_group(&groups[at], weights.as_ref().map(|all| &all[at]))
        });
        *block = [0; BYTES];
        let sums = weights.map(|all| all.map(|weights| sum(&weights)));
        if !Self::define_scales(block, &found, sums) {
            return;
        }
        let mut codes = [0; 256];
        let steps = Self::steps(block);
        for (at, codes) in codes.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
            *codes = match steps[at] {
                (0.0, _) => found[at].codes,
                step => choose(Self::CODES, &groups[at], step),
            };
        }
        Self::put_codes(block, &codes);
    }

    /// How much each number of a group matters, by the importance of its column.
    #[inline(always)]
    fn weights(values: &[f32; SIZE], importance: &[f32; SIZE], variance: f32) -> [f32; SIZE] {
        match Self::VARIANCES {
            Some(_) => important(values, importance, variance),
            None => *importance,
        }
    }

    /// What the definition finds for a group of a batch, and the sum of its weights.
    #[inline(never)]
    fn define_in(
        batch: LargeBatch<'_>,
        group: usize,
        variances: &[f32; LANES],
    ) -> (Group<SIZE>, f32) {
        let values = batch.group(group);
        let weights = batch.importance_of(group);
        let weights = weights.map(|all| Self::weights(values, all, variances[group / GROUPS]));
        let sum = weights.map_or(0.0, |weights| sum(&weights));
        (Self::define_group(values, weights.as_ref()), sum)
    }

    /// The scales and minimums of all groups of a batch.
    #[inline(always)]
    fn search<I: Isa>(isa: I, batch: LargeBatch<'_>, variances: &[f32; LANES]) -> Found {
        let (mut scales, mut below, mut sums) = ([0.0; 128], [0.0; 128], [0.0; 128]);
        for first in (0..batch.blocks * GROUPS).step_by(side_by_side::GROUPS) {
            let range = first..first + side_by_side::GROUPS;
            let values = sixteen::<I, SIZE>(isa, &batch.values[first * SIZE..]);
            let (scale, min, left) = match batch.importance {
                None => Self::groups_in_lanes(&values, None),
                Some(importance) => {
                    let mut weights = sixteen::<I, SIZE>(isa, &importance[first * SIZE..]);
                    if Self::VARIANCES.is_some() {
                        let variance = pair(isa, |lane| variances[(first + lane) / GROUPS]);
                        weights = side_by_side::important(&values, &weights, variance);
                        let mut all = weights[0].same(0.0);
                        for weight in weights {
                            all = all + weight;
                        }
                        sums[range.clone()].copy_from_slice(&lanes(all));
                    }
                    Self::groups_in_lanes(&values, Some(&weights))
                }
            };
            scales[range.clone()].copy_from_slice(&lanes(scale));
            below[range].copy_from_slice(&lanes(min).map(|min| -min));
            if left.any() {
                let left = left.bits();
                for lane in (0..side_by_side::GROUPS).filter(|lane| left & 1 << lane != 0) {
                    let at = first + lane;
                    let (one, sum) = Self::define_in(batch, at, variances);
                    (scales[at], below[at], sums[at]) = (one.scale, one.below, sum);
                }
            }
        }
        Found { scales, below, weights: batch.importance.map(|_| sums) }
    }

    /// Chooses and stores the codes of a block of a batch.
    #[inline(always)]
    fn choose_codes<I: Isa>(
        isa: I,
        batch: LargeBatch<'_>,
        at: usize,
        variances: &[f32; LANES],
        block: &mut [u8; BYTES],
    ) {
        let mut codes = [0; 256];
        let steps = Self::steps(block);
        for (part, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let values = &batch.block(at).as_chunks::<32>().0[part];
            let groups = &steps[part * 32 / SIZE..][..32 / SIZE];
            if choose_in_lanes::<I, SIZE>(isa, Self::CODES, values, groups, codes) {
                continue;
            }
            let first = (at * 256 + part * 32) / SIZE;
            for (group, codes) in codes.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
                *codes = match groups[group] {
                    (0.0, _) => Self::define_in(batch, first + group, variances).0.codes,
                    step => choose(Self::CODES, batch.group(first + group), step),
                };
            }
        }
        Self::put_codes(block, &codes);
    }
}

/// How K types are encoded.
pub(in crate::ggml) struct ByGroups<const SIZE: usize, const GROUPS: usize>;

impl<T, const BYTES: usize, const SIZE: usize, const GROUPS: usize> Encodes<T, BYTES, 256>
    for ByGroups<SIZE, GROUPS>
where
    T: Grouped<BYTES, SIZE, GROUPS>,
{
    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; BYTES]]) {
        for (at, (values, block)) in row.as_chunks::<256>().0.iter().zip(out).enumerate() {
            let importance = importance.map(|all| &all[at * 256..][..256]);
            T::define_block(values, importance, block);
        }
    }

    #[inline(always)]
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; BYTES]]) {
        let mut batches = LargeBatches::of(rows);
        let mut out = out.chunks_mut(LANES);
        while let (Some(batch), Some(out)) = (batches.next(), out.next()) {
            let variances = match (batch.importance, T::VARIANCES) {
                (Some(_), Some(often)) => batch.squares(isa).map(|squares| often * squares / 256.0),
                _ => [0.0; LANES],
            };
            let found = T::search(isa, batch, &variances);
            let empty = T::put_scales(isa, &found, out);
            for (at, block) in out.iter_mut().enumerate() {
                match empty & 1 << at {
                    0 => T::choose_codes(isa, batch, at, &variances, block),
                    _ => *block = [0; BYTES],
                }
            }
        }
    }
}

/// The codes whose numbers are the nearest.
fn choose<const SIZE: usize>(
    codes: [i8; 2],
    values: &[f32; SIZE],
    (scale, below): (f32, f32),
) -> [u8; SIZE] {
    let [least, most] = codes.map(i32::from);
    values.map(|value| low_byte(nearest((value + below) / scale).clamp(least, most) - least))
}

/// [`choose`] for 32 numbers, one or two groups; false if that is left to the definition.
#[inline(always)]
fn choose_in_lanes<I: Isa, const SIZE: usize>(
    isa: I,
    [least, most]: [i8; 2],
    values: &[f32; 32],
    steps: &[(f32, f32)],
    codes: &mut [u8; 32],
) -> bool {
    let (least, most) = (isa.splat(f32::from(least)), isa.splat(f32::from(most)));
    let mut levels = [least; 4];
    let mut all = least.equals(least);
    let groups = levels.chunks_exact_mut(SIZE / LANES).zip(values.as_chunks::<SIZE>().0);
    for ((levels, values), &(scale, below)) in groups.zip(steps) {
        let (scale, below) = (isa.splat(scale), isa.splat(below));
        for (level, values) in levels.iter_mut().zip(values.as_chunks().0) {
            let scaled = (isa.load(values) + below) / scale;
            all = all.and(near(scaled));
            *level = scaled.round().min(most).max(least) - least;
        }
    }
    *codes = I::Vector::low_bytes(levels);
    all.all()
}
