//! Helpers for group encoders: codes in bytes and nibbles.
//!
//! Everything is `#[inline(always)]`, to be compiled for each instruction set.

pub(crate) use super::magnitude::largest_magnitude as largest;
use crate::simd::pack_nibbles;

/// Writes one code per byte.
#[inline(always)]
pub(crate) fn bytes(values: &[f32], out: &mut [u8], code: impl Fn(f32) -> u8) {
    out.iter_mut().zip(values).for_each(|(out, &value)| *out = code(value));
}

/// Writes two codes per byte.
#[inline(always)]
pub(crate) fn nibbles(values: &[f32], out: &mut [u8], code: impl Fn(f32) -> u8) {
    let mut codes = [0; 64];
    for (values, out) in values.chunks(codes.len()).zip(out.chunks_mut(codes.len() / 2)) {
        let codes = &mut codes[..values.len()];
        bytes(values, codes, &code);
        pack_nibbles(codes, out);
    }
}
