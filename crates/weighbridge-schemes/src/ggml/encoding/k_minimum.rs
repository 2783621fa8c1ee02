//! What the K types have in common that count up from a minimum.

use super::k::{Found, Grouped};
use crate::ggml::kernel::half_at;
use crate::ggml::search::minimum::{self, Trials};
use crate::ggml::search::{Group, half, low_byte, nearest, positive};
use crate::simd::Isa;
use crate::simd::vector::Parallel;

/// What these types differ in: `GROUPS` groups of `SIZE` numbers.
pub(in crate::ggml) trait WithMinimums<const BYTES: usize, const SIZE: usize, const GROUPS: usize> {
    /// What is tried for a group if nobody says how much numbers matter.
    const TRIALS: Trials;

    /// The largest scale of a group, and where larger ones are cut, without and with importance.
    const LARGEST: u8;
    const CUT: [u8; 2];

    /// How often the variance of a block counts beside the square of a number.
    const VARIANCES: f32;

    /// Where the scale and the scale of the minimums stand.
    const SCALES_AT: usize;

    /// How much each number matters if nobody says so.
    fn weights(values: &[f32; SIZE]) -> [f32; SIZE];

    /// The vector form, one group per lane.
    fn weights_in_lanes<P: Parallel>(values: &[P; SIZE]) -> [P; SIZE];

    /// Stores the scales and minimums of the groups.
    fn put_levels(block: &mut [u8; BYTES], levels: [[u8; GROUPS]; 2]);

    /// The scales and minimums of the groups, as decoding finds them.
    fn levels(block: &[u8; BYTES]) -> [[u8; GROUPS]; 2];

    /// Stores the codes.
    fn put_codes(block: &mut [u8; BYTES], codes: &[u8; 256]);

    /// Stores all scales and minimums.
    #[inline(always)]
    fn put_both(block: &mut [u8; BYTES], both: [Group<GROUPS>; 2], cut: u8) {
        for (found, at) in both.iter().zip([Self::SCALES_AT, Self::SCALES_AT + 2]) {
            block[at..at + 2].copy_from_slice(&half(found.scale).to_le_bytes());
        }
        Self::put_levels(block, both.map(|found| found.codes.map(|level| level.min(cut))));
    }
}

impl<T, const BYTES: usize, const SIZE: usize, const GROUPS: usize> Grouped<BYTES, SIZE, GROUPS>
    for T
where
    T: WithMinimums<BYTES, SIZE, GROUPS>,
{
    const CODES: [i8; 2] = [0, T::TRIALS.most.cast_signed()];
    const VARIANCES: Option<f32> = Some(T::VARIANCES);

    fn define_group(values: &[f32; SIZE], weights: Option<&[f32; SIZE]>) -> Group<SIZE> {
        match weights {
            None => minimum::define(&T::TRIALS, values, &T::weights(values)),
            Some(weights) => minimum::define(&T::TRIALS.by_importance(), values, weights),
        }
    }

    #[inline(always)]
    fn groups_in_lanes<P: Parallel>(
        values: &[P; SIZE],
        weights: Option<&[P; SIZE]>,
    ) -> (P, P, P::Mask) {
        let (weights, trials) = match weights {
            None => (&T::weights_in_lanes(values), &T::TRIALS),
            Some(weights) => (weights, &const { T::TRIALS.by_importance() }),
        };
        let found = minimum::in_lanes(trials, values, weights);
        (found.scale, found.min, found.left)
    }

    #[cfg(test)]
    fn define_scales(
        block: &mut [u8; BYTES],
        found: &[Group<SIZE>; GROUPS],
        weights: Option<[f32; GROUPS]>,
    ) -> bool {
        let fit = |of: fn(&Group<SIZE>) -> f32| {
            let values = std::array::from_fn(|at| of(&found[at]));
            match &weights {
                None => by_largest(T::LARGEST, &values),
                Some(weights) => positive::define(T::LARGEST, &values, weights),
            }
        };
        let both = [fit(|found| found.scale), fit(|found| found.below)];
        T::put_both(block, both, T::CUT[usize::from(weights.is_some())]);
        true
    }

    #[inline(always)]
    fn put_scales<I: Isa>(isa: I, found: &Found, out: &mut [[u8; BYTES]]) -> u8 {
        let [scales, below] = [&found.scales, &found.below].map(|all| all.as_chunks().0);
        let Some(weights) = &found.weights else {
            for (block, both) in out.iter_mut().zip(scales.iter().zip(below)) {
                let both = [both.0, both.1].map(|all| by_largest(T::LARGEST, all));
                T::put_both(block, both, T::CUT[0]);
            }
            return 0;
        };
        let weights = weights.as_chunks().0;
        let scales = positive::eight(isa, T::LARGEST, scales, weights);
        let minimums = positive::eight(isa, T::LARGEST, below, weights);
        for (block, (scales, minimums)) in out.iter_mut().zip(scales.into_iter().zip(minimums)) {
            T::put_both(block, [scales, minimums], T::CUT[1]);
        }
        0
    }

    #[inline(always)]
    fn steps(block: &[u8; BYTES]) -> [(f32, f32); GROUPS] {
        let [scales, minimums] = T::levels(block);
        let (d, m) = (half_at(block, T::SCALES_AT), half_at(block, T::SCALES_AT + 2));
        std::array::from_fn(|at| (d * f32::from(scales[at]), m * f32::from(minimums[at])))
    }

    #[inline(always)]
    fn put_codes(block: &mut [u8; BYTES], codes: &[u8; 256]) {
        T::put_codes(block, codes);
    }
}

/// Scales as parts of the largest one.
#[inline(always)]
fn by_largest<const GROUPS: usize>(most: u8, values: &[f32; GROUPS]) -> Group<GROUPS> {
    let largest =
        values.iter().fold(0.0, |most: f32, &value| if value > most { value } else { most });
    let inverse = if largest > 0.0 { f32::from(most) / largest } else { 0.0 };
    let codes = values.map(|value| low_byte(nearest(inverse * value)));
    Group { scale: largest / f32::from(most), below: 0.0, codes }
}
