//! Whole slices.

use std::arch::x86_64::*;

use super::scaled16;
use crate::simd::Number;
use crate::simd::avx2::lanes::{any_nan, store8};

/// Rounds each of `values` to `out`'s type.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn narrow<T: Number>(values: &[f32], out: &mut [T]) {
    let ((values, rest), (out, rest_out)) = (values.as_chunks::<8>(), out.as_chunks_mut::<8>());
    for (values, out) in values.iter().zip(out) {
        // SAFETY: eight are read, eight are written.
        unsafe {
            store8(out.as_mut_ptr(), any_nan::<T>(_mm256_loadu_ps(values.as_ptr())));
        }
    }
    rest_out.iter_mut().zip(rest).for_each(|(o, &value)| *o = T::narrow(value));
}

/// Signed bytes times a scale, sixteen at a time; returns how many bytes it took.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn scaled_bytes<T: Number>(scale: f32, bytes: &[u8], out: &mut [T]) -> usize {
    let (bytes, out) = (bytes.as_chunks::<16>().0, out.as_chunks_mut::<16>().0);
    // SAFETY: sixteen are read, sixteen are written.
    unsafe {
        let scale = _mm256_set1_ps(scale);
        for (bytes, out) in bytes.iter().zip(&mut *out) {
            scaled16(out.as_mut_ptr(), _mm_loadu_si128(bytes.as_ptr().cast()), scale);
        }
    }
    16 * bytes.len().min(out.len())
}

/// Prefetches memory that will be written soon.
#[inline(always)]
pub(in crate::simd) fn prefetch<T>(out: &[T]) {
    for at in (0..size_of_val(out)).step_by(64) {
        // SAFETY: inside the slice; a prefetch reads nothing, and every x86-64 has it.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(out.as_ptr().cast::<i8>().add(at)) }
    }
}
