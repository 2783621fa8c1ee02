//! Integers in registers, converted to numbers and written to memory.

use std::arch::x86_64::*;

use crate::simd::Number;
use crate::simd::avx2::lanes::{store_woven16, store16};

/// The half-precision number in the first two bytes at `at`, widened; every NaN becomes the
/// plain quiet one.
///
/// # Safety
///
/// Two bytes may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn half(at: *const u8) -> f32 {
    // SAFETY: two bytes may be read.
    unsafe {
        let bits = u16::from_le_bytes(at.cast::<[u8; 2]>().read());
        let quiet = if bits & 0x7fff > 0x7c00 { bits & 0x8000 | 0x7e00 } else { bits };
        _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(quiet))))
    }
}

/// The lowest eight of `bytes`, unsigned, as numbers.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn unsigned8(bytes: __m128i) -> __m256 {
    _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes))
}

/// The lowest eight of `bytes`, signed, as numbers.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn signed8(bytes: __m128i) -> __m256 {
    _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))
}

/// The even and the odd of sixteen signed words as numbers.
///
/// Multiplying by one and zero extends the sign on a unit that shifts and shuffles leave free.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn apart(words: __m256i) -> [__m256; 2] {
    let even = _mm256_madd_epi16(words, _mm256_set1_epi32(1));
    [_mm256_cvtepi32_ps(even), _mm256_cvtepi32_ps(_mm256_srai_epi32::<16>(words))]
}

/// Writes sixteen signed words times `scale` to `at..at + 16`.
///
/// # Safety
///
/// Sixteen numbers may be written to `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn scaled_words16<T: Number>(at: *mut T, words: __m256i, scale: __m256) {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let [even, odd] = apart(words);
        store_woven16(at, _mm256_mul_ps(even, scale), _mm256_mul_ps(odd, scale));
    }
}

/// Writes sixteen signed bytes times `scale` to `at..at + 16`.
///
/// # Safety
///
/// Sixteen numbers may be written to `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn scaled16<T: Number>(at: *mut T, bytes: __m128i, scale: __m256) {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let low = _mm256_mul_ps(signed8(bytes), scale);
        let high = _mm256_mul_ps(signed8(_mm_srli_si128::<8>(bytes)), scale);
        store16(at, low, high);
    }
}
