//! Numbers into the K types that lie around zero.

use crate::ggml::search::signed::Signed;
#[cfg(test)]
use crate::ggml::search::sum;
use crate::ggml::search::{low_byte, nearest};
use crate::simd::Isa;
use crate::simd::vector::{LANES, Parallel};

/// Groups of a block, and numbers of a group.
pub(super) const GROUPS: usize = 16;

/// What the types differ in.
pub(in crate::ggml) trait Scaled<const BYTES: usize> {
    /// Codes lie between this, negated, and one less than it.
    const MOST: i16;

    /// What is looked for in a group.
    fn define_group(values: &[f32; 16], weights: Option<&[f32; 16]>) -> Signed<16>;

    /// How much each number of a block matters, by the importance of its column.
    #[cfg(test)]
    fn define_weights(values: &[f32; 256], importance: &[f32]) -> [f32; 256];

    /// Stores the scale and those of the groups. Returns false if there is nothing to store.
    fn put_scales(
        block: &mut [u8; BYTES],
        scales: &[f32; GROUPS],
        weights: Option<[f32; GROUPS]>,
    ) -> bool;

    /// How often the variance of a block counts beside the square of a number, if it does.
    const VARIANCES: Option<f32>;

    /// The scales of groups in lanes, and which are left to the definition.
    fn groups_in_lanes<P: Parallel>(values: &[P; 16], weights: Option<&[P; 16]>) -> (P, P::Mask);

    /// Stores the scales of eight blocks. Returns which have nothing to store.
    fn put_all_scales<I: Isa>(
        isa: I,
        out: &mut [[u8; BYTES]],
        scales: &[[f32; GROUPS]; LANES],
        weights: Option<&[[f32; GROUPS]; LANES]>,
    ) -> u8;

    /// The scales of the groups, as decoding finds them.
    fn scales(block: &[u8; BYTES]) -> [f32; GROUPS];

    /// Stores the codes.
    fn put_codes(block: &mut [u8; BYTES], codes: &[u8; 256]);
}

/// The definition of [`Encodes`](crate::ggml::kernel::Encodes) for these types.
#[cfg(test)]
pub(in crate::ggml) fn define<T: Scaled<BYTES>, const BYTES: usize>(
    row: &[f32],
    importance: Option<&[f32]>,
    out: &mut [[u8; BYTES]],
) {
    for (at, (values, block)) in row.as_chunks::<256>().0.iter().zip(out).enumerate() {
        let importance = importance.map(|all| &all[at * 256..][..256]);
        define_block::<T, BYTES>(values, importance, block);
    }
}

#[cfg(test)]
fn define_block<T: Scaled<BYTES>, const BYTES: usize>(
    values: &[f32; 256],
    importance: Option<&[f32]>,
    block: &mut [u8; BYTES],
) {
    let groups = values.as_chunks::<16>().0;
    let weights = importance.map(|importance| T::define_weights(values, importance));
    let weights = weights.as_ref().map(|weights| weights.as_chunks::<16>().0);
    let found: [Signed<16>; GROUPS] =
        std::array::from_fn(|at| T::define_group(&groups[at], weights.map(|all| &all[at])));
    let scales = std::array::from_fn(|at| found[at].scale);
    let sums = weights.map(|all| std::array::from_fn(|at| sum(&all[at])));
    *block = [0; BYTES];
    if !T::put_scales(block, &scales, sums) {
        return;
    }
    let mut codes = [0; 256];
    let scales = T::scales(block);
    for (at, codes) in codes.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        *codes = match scales[at] {
            0.0 => found[at].codes,
            scale => choose(T::MOST, &groups[at], scale),
        };
    }
    T::put_codes(block, &codes);
}

/// The codes whose numbers are the nearest.
pub(super) fn choose(most: i16, values: &[f32; 16], scale: f32) -> [u8; 16] {
    let most = i32::from(most);
    values.map(|value| low_byte(nearest(value / scale).clamp(-most, most - 1) + most))
}
