//! Numbers into the K types that count up from a minimum.

use crate::ggml::kernel::Blocks;
use crate::ggml::search::minimum::Trials;
#[cfg(test)]
use crate::ggml::search::minimum::{self, Minimum};
use crate::ggml::search::{half, low_byte, nearest};
#[cfg(test)]
use crate::ggml::search::{important, positive, squares, sum};
use crate::simd::half_to_f32;
use crate::simd::vector::Parallel;

/// What the types differ in: `GROUPS` groups of `SIZE` numbers.
pub(in crate::ggml) trait WithMinimums<const BYTES: usize, const SIZE: usize, const GROUPS: usize>:
    Blocks<BYTES, 256>
{
    /// What is tried for a group.
    const TRIALS: Trials;

    /// The same where importance is known.
    const TRIALS_BY_IMPORTANCE: Trials;

    /// The largest scale of a group, and where larger ones are cut, without and with importance.
    const LARGEST: u8;
    const CUT: [u8; 2];

    /// How often the variance of a block counts beside the square of a number.
    const VARIANCES: f32;

    /// Where the scale and the scale of the minimums stand.
    const SCALES_AT: usize;

    /// How much each number matters if nobody says so.
    fn weights(values: &[f32; SIZE]) -> [f32; SIZE];

    /// The same for groups in lanes.
    fn weights_in_lanes<P: Parallel>(values: &[P; SIZE]) -> [P; SIZE];

    /// Stores the scales and minimums of the groups.
    fn put_levels(block: &mut [u8; BYTES], levels: [[u8; GROUPS]; 2]);

    /// The scales and minimums of the groups, as decoding finds them.
    fn levels(block: &[u8; BYTES]) -> [[u8; GROUPS]; 2];

    /// Stores the codes.
    fn put_codes(block: &mut [u8; BYTES], codes: &[u8; 256]);
}

/// The definition of [`Encodes`](crate::ggml::kernel::Encodes) for these types.
#[cfg(test)]
pub(in crate::ggml) fn define<T, const BYTES: usize, const SIZE: usize, const GROUPS: usize>(
    row: &[f32],
    importance: Option<&[f32]>,
    out: &mut [[u8; BYTES]],
) where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    for (at, (values, block)) in row.as_chunks::<256>().0.iter().zip(out).enumerate() {
        let importance = importance.map(|all| &all[at * 256..][..256]);
        define_block::<T, BYTES, SIZE, GROUPS>(values, importance, block);
    }
}

#[cfg(test)]
fn define_block<T, const BYTES: usize, const SIZE: usize, const GROUPS: usize>(
    values: &[f32; 256],
    importance: Option<&[f32]>,
    block: &mut [u8; BYTES],
) where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    let groups = values.as_chunks::<SIZE>().0;
    let weights = weights::<T, BYTES, SIZE, GROUPS>(values, importance);
    let trials = if importance.is_some() { T::TRIALS_BY_IMPORTANCE } else { T::TRIALS };
    let found: [Minimum<SIZE>; GROUPS] =
        std::array::from_fn(|group| minimum::define(&trials, &groups[group], &weights[group]));
    let (scales, minimums) =
        (std::array::from_fn(|at| found[at].scale), std::array::from_fn(|at| found[at].below));
    let [cut, cut_by_importance] = T::CUT;
    let ((d, scales), (m, minimums), cut) = match importance {
        None => (by_largest(T::LARGEST, &scales), by_largest(T::LARGEST, &minimums), cut),
        Some(_) => {
            let sums = weights.map(|weights| sum(&weights));
            let fit = |values| {
                let found = positive::define(T::LARGEST, values, &sums);
                (found.scale, found.codes)
            };
            (fit(&scales), fit(&minimums), cut_by_importance)
        }
    };
    let levels = [scales, minimums].map(|levels| levels.map(|level| level.min(cut)));
    put_scales::<T, BYTES, SIZE, GROUPS>(block, [d, m], levels);
    let mut codes = [0; 256];
    let steps = steps::<T, BYTES, SIZE, GROUPS>(block);
    for (group, codes) in codes.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
        *codes = match steps[group] {
            (0.0, _) => found[group].codes,
            step => choose(T::TRIALS.most, &groups[group], step),
        };
    }
    T::put_codes(block, &codes);
}

/// How much each number of each group matters.
#[cfg(test)]
fn weights<T, const BYTES: usize, const SIZE: usize, const GROUPS: usize>(
    values: &[f32; 256],
    importance: Option<&[f32]>,
) -> [[f32; SIZE]; GROUPS]
where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    let groups = values.as_chunks::<SIZE>().0;
    let Some(importance) = importance else {
        return std::array::from_fn(|group| T::weights(&groups[group]));
    };
    let variance = T::VARIANCES * squares(values) / 256.0;
    std::array::from_fn(|group| important(&groups[group], &importance[group * SIZE..], variance))
}

/// Scales as parts of the largest one.
#[inline(always)]
pub(super) fn by_largest<const GROUPS: usize>(
    most: u8,
    values: &[f32; GROUPS],
) -> (f32, [u8; GROUPS]) {
    let largest =
        values.iter().fold(0.0, |most: f32, &value| if value > most { value } else { most });
    let inverse = if largest > 0.0 { f32::from(most) / largest } else { 0.0 };
    (largest / f32::from(most), values.map(|value| low_byte(nearest(inverse * value))))
}

/// Stores all scales.
#[inline(always)]
pub(super) fn put_scales<T, const BYTES: usize, const SIZE: usize, const GROUPS: usize>(
    block: &mut [u8; BYTES],
    scales: [f32; 2],
    levels: [[u8; GROUPS]; 2],
) where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    for (scale, at) in scales.into_iter().zip([T::SCALES_AT, T::SCALES_AT + 2]) {
        block[at..at + 2].copy_from_slice(&half(scale).to_le_bytes());
    }
    T::put_levels(block, levels);
}

/// The scale and the distance of the minimum from zero of each group, as decoding finds them.
#[inline(always)]
pub(super) fn steps<T, const BYTES: usize, const SIZE: usize, const GROUPS: usize>(
    block: &[u8; BYTES],
) -> [(f32, f32); GROUPS]
where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    let [scales, minimums] = T::levels(block);
    let [d, m] = [T::SCALES_AT, T::SCALES_AT + 2]
        .map(|at| half_to_f32(u16::from_le_bytes([block[at], block[at + 1]])));
    std::array::from_fn(|at| (d * f32::from(scales[at]), m * f32::from(minimums[at])))
}

/// The codes whose numbers are the nearest.
pub(super) fn choose<const SIZE: usize>(
    most: u8,
    values: &[f32; SIZE],
    (scale, below): (f32, f32),
) -> [u8; SIZE] {
    values.map(|value| low_byte(nearest((value + below) / scale).clamp(0, i32::from(most))))
}
