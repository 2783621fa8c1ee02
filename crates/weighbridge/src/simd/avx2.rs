//! Primitives of the AVX2 level: eight single-precision lanes at a time.
//!
//! They are `#[inline(always)]` without `#[target_feature]`, so that they become part of whatever
//! kernel calls them and are compiled with that kernel's features. Calling one where the CPU does
//! not have AVX2 and F16C is undefined behaviour: that is what `unsafe` means on all of them.
#![allow(unsafe_code, clippy::missing_safety_doc)]

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::number::Number;

/// A number that eight lanes can be narrowed to.
///
/// A NaN in the lanes must have a fraction of which only the highest bit is set, as arithmetic
/// on [`super::half_to_f32`]'s and [`half`]'s results gives: then rounding cannot turn it into
/// something else, and needs no look at it.
pub(crate) trait Lanes: Sized {
    /// Rounds eight numbers to nearest even and writes them to `at..at + 8`.
    unsafe fn store8(at: *mut Self, lanes: __m256);

    /// Rounds sixteen numbers to nearest even and writes them to `at..at + 16`.
    unsafe fn store16(at: *mut Self, low: __m256, high: __m256);

    /// Fills an output by way of single precision, in place where it is that. `N` is a multiple
    /// of sixteen.
    unsafe fn through_lanes<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N]));
}

impl Lanes for f32 {
    #[inline(always)]
    unsafe fn store8(at: *mut Self, lanes: __m256) {
        // SAFETY: eight may be written.
        unsafe { _mm256_storeu_ps(at, lanes) }
    }

    #[inline(always)]
    unsafe fn store16(at: *mut Self, low: __m256, high: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            Self::store8(at, low);
            Self::store8(at.add(8), high);
        }
    }

    #[inline(always)]
    unsafe fn through_lanes<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N])) {
        fill(out);
    }
}

impl Lanes for bf16 {
    #[inline(always)]
    unsafe fn store8(at: *mut Self, lanes: __m256) {
        // SAFETY: eight may be written.
        unsafe {
            let rounded = bf16_in_upper_half(lanes);
            let words = _mm_packus_epi32(
                _mm256_castsi256_si128(rounded),
                _mm256_extracti128_si256::<1>(rounded),
            );
            _mm_storeu_si128(at.cast(), words);
        }
    }

    #[inline(always)]
    unsafe fn store16(at: *mut Self, low: __m256, high: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            // Packing works within 128-bit halves, the permutation puts them in order.
            let words = _mm256_packus_epi32(bf16_in_upper_half(low), bf16_in_upper_half(high));
            _mm256_storeu_si256(at.cast(), _mm256_permute4x64_epi64::<0b11_01_10_00>(words));
        }
    }

    #[inline(always)]
    unsafe fn through_lanes<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N])) {
        // SAFETY: passed on.
        unsafe { through_stack(out, fill) }
    }
}

/// Eight bfloat16 as 32-bit words.
#[inline(always)]
unsafe fn bf16_in_upper_half(lanes: __m256) -> __m256i {
    // SAFETY: registers only.
    unsafe {
        let bits = _mm256_castps_si256(lanes);
        let odd = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(1));
        let bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
        _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, bias))
    }
}

impl Lanes for f16 {
    #[inline(always)]
    unsafe fn store8(at: *mut Self, lanes: __m256) {
        // SAFETY: eight may be written.
        unsafe {
            let words = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(lanes);
            _mm_storeu_si128(at.cast(), words);
        }
    }

    #[inline(always)]
    unsafe fn store16(at: *mut Self, low: __m256, high: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            Self::store8(at, low);
            Self::store8(at.add(8), high);
        }
    }

    #[inline(always)]
    unsafe fn through_lanes<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N])) {
        // SAFETY: passed on.
        unsafe { through_stack(out, fill) }
    }
}

#[inline(always)]
unsafe fn through_stack<T: Lanes, const N: usize>(
    out: &mut [T; N],
    fill: impl FnOnce(&mut [f32; N]),
) {
    const { assert!(N.is_multiple_of(16)) };
    let mut values = [0.0; N];
    fill(&mut values);
    for (out, values) in out.as_chunks_mut::<16>().0.iter_mut().zip(values.as_chunks::<16>().0) {
        // SAFETY: sixteen are read, sixteen are written.
        unsafe {
            let (low, high) = (values.as_ptr(), values.as_ptr().add(8));
            T::store16(out.as_mut_ptr(), _mm256_loadu_ps(low), _mm256_loadu_ps(high));
        }
    }
}

/// The half-precision number in the first two bytes at `at`, widened; every NaN becomes the
/// plain quiet one.
#[inline(always)]
pub(crate) unsafe fn half(at: *const u8) -> f32 {
    // SAFETY: two bytes may be read.
    unsafe {
        let bits = u16::from_le_bytes(at.cast::<[u8; 2]>().read());
        let quiet = if bits & 0x7fff > 0x7c00 { 0x7e00 } else { bits };
        _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(quiet))))
    }
}

/// Eight unsigned bytes, the lowest of `bytes`, as numbers.
#[inline(always)]
pub(crate) unsafe fn unsigned8(bytes: __m128i) -> __m256 {
    // SAFETY: registers only.
    unsafe { _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)) }
}

/// Eight signed bytes, the lowest of `bytes`, as numbers.
#[inline(always)]
pub(crate) unsafe fn signed8(bytes: __m128i) -> __m256 {
    // SAFETY: registers only.
    unsafe { _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)) }
}

/// Sixteen signed bytes, times `scale`, to `at..at + 16`.
#[inline(always)]
pub(crate) unsafe fn scaled16<T: Number>(at: *mut T, bytes: __m128i, scale: __m256) {
    // SAFETY: passed on.
    unsafe {
        let low = _mm256_mul_ps(signed8(bytes), scale);
        let high = _mm256_mul_ps(signed8(_mm_srli_si128::<8>(bytes)), scale);
        T::store16(at, low, high);
    }
}
