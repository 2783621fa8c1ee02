//! What the encoders of groups share: the largest number of a group, and codes in bytes and nibbles.
//!
//! All of it is `#[inline(always)]`, to be compiled for each instruction set.

pub(crate) use super::magnitude::largest_magnitude as largest;
use crate::simd::pack_nibbles;

/// A code for each number, in a byte.
#[inline(always)]
pub(crate) fn bytes(values: &[f32], out: &mut [u8], code: impl Fn(f32) -> u8) {
    out.iter_mut().zip(values).for_each(|(out, &value)| *out = code(value));
}

/// A code for each number, two in a byte.
#[inline(always)]
pub(crate) fn nibbles(values: &[f32], out: &mut [u8], code: impl Fn(f32) -> u8) {
    let mut codes = [0; 64];
    for (values, out) in values.chunks(codes.len()).zip(out.chunks_mut(codes.len() / 2)) {
        let codes = &mut codes[..values.len()];
        bytes(values, codes, &code);
        pack_nibbles(codes, out);
    }
}
