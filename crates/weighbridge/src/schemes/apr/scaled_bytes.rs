//! `APR_Q8`: one f32 scale, then a signed byte for each element of the tensor.
#![allow(unsafe_code)] // The AVX2 form.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::schemes::{ByElements, Elements, Out};
use crate::simd::{self, Level, Number, Set};
use crate::source::{Slab, Staged};

/// Bytes of the scale.
const SCALE: u64 = 4;

/// A tensor of signed bytes behind one scale.
pub(super) struct ScaledBytes {
    /// Elements in each row of the outermost dimension.
    pub(super) columns: u64,
}

impl ByElements for ScaledBytes {
    fn row_elements(&self) -> u64 {
        self.columns
    }
}

impl Elements for ScaledBytes {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        let count = elements.end - elements.start;
        // A tensor without elements may be without its scale.
        slabs.push(Slab::whole(0, 0, if count == 0 { 0 } else { SCALE }));
        slabs.push(Slab::whole(0, if count == 0 { 0 } else { SCALE + elements.start }, count));
    }

    fn decode(&self, staged: &[Staged<'_>], _: Range<u64>, out: Out<'_>) -> Result<()> {
        let [scale, bytes] = staged else {
            return Err(Error::usage("a scale and its bytes are needed"));
        };
        let Some(&scale) = scale.bytes().first_chunk() else {
            return Ok(());
        };
        scaled(simd::level(), f32::from_le_bytes(scale), bytes.bytes(), out);
        Ok(())
    }
}

/// Each signed byte times the scale.
fn scaled(level: Level, scale: f32, bytes: &[u8], out: Out<'_>) {
    // The plain NaN, as kernels promise to `store16`.
    let scale = if scale.is_nan() { f32::NAN } else { scale };
    match out {
        Out::F32(out) => scaled_as(level, scale, bytes, out),
        Out::Bf16(out) => scaled_as(level, scale, bytes, out),
        Out::F16(out) => scaled_as(level, scale, bytes, out),
    }
}

fn scaled_as<T: Number>(level: Level, scale: f32, bytes: &[u8], out: &mut [T]) {
    match level.set() {
        // SAFETY: a level comes from `simd::level` or `Level::available`: the CPU has it.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { scaled_avx2(scale, bytes, out) },
        _ => define(scale, bytes, out),
    }
}

/// The definition.
#[inline(never)]
fn define<T: Number>(scale: f32, bytes: &[u8], out: &mut [T]) {
    for (out, byte) in out.iter_mut().zip(bytes) {
        *out = T::narrow(f32::from(byte.cast_signed()) * scale);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn scaled_avx2<T: Number>(scale: f32, bytes: &[u8], out: &mut [T]) {
    use std::arch::x86_64::*;
    let ((whole, rest), (out, rest_out)) = (bytes.as_chunks::<16>(), out.as_chunks_mut::<16>());
    let lanes = _mm256_set1_ps(scale);
    for (bytes, out) in whole.iter().zip(out) {
        // SAFETY: sixteen are read, sixteen are written; the caller saw to the CPU.
        unsafe {
            let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
            simd::avx2::scaled16(out.as_mut_ptr(), bytes, lanes);
        }
    }
    for (out, byte) in rest_out.iter_mut().zip(rest) {
        *out = T::narrow(f32::from(byte.cast_signed()) * scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::agreement::{self, Subject};

    #[test]
    fn every_level_agrees_at_every_length() {
        let all: Vec<u8> = (0..=255).collect();
        let inputs: Vec<_> = (0..=70).map(|len| all[91..91 + len].to_vec()).collect();
        let bits = [0x7fff_ffff, 0xff80_0001_u32].map(f32::from_bits);
        let scales = [0.0, -0.0, 1e-45, -1e-39, 0.007, -3.5, 2e36, f32::MAX, f32::NEG_INFINITY];
        for scale in scales.into_iter().chain(bits) {
            let subject = Subject {
                name: "APR_Q8",
                elements: 1,
                bytes: 1,
                decode: &|level, bytes, out| scaled(level, scale, bytes, out),
            };
            agreement::check(&subject, &inputs);
            agreement::check(&subject, std::slice::from_ref(&all));
        }
    }
}
