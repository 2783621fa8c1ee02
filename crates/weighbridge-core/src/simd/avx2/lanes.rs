//! Eight single-precision lanes, written as any type of numbers.
//!
//! A NaN in the lanes must have only the highest bit of its fraction set, as it does after
//! arithmetic on the results of [`half_to_f32`](crate::simd::half_to_f32): rounding cannot turn
//! such a NaN into anything else, and need not test for it. Other lanes go through [`any_nan`]
//! first.

use std::arch::x86_64::*;

use crate::dtype::DType;
use crate::simd::Number;

/// Whether a number has sixteen bits, so that a [`Table16`](super::Table16) of them pays.
pub(super) const fn is_16_bit<T: Number>() -> bool {
    size_of::<T>() == 2
}

/// Whether [`store_woven16`] is the cheaper way to write sixteen numbers, for a kernel that can
/// have its lanes in either order.
pub(super) const fn weaves<T: Number>() -> bool {
    matches!(T::DTYPE, DType::BF16)
}

/// Rounds eight numbers to nearest even and returns them as sixteen-bit words, in order. Only for
/// types of sixteen bits.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn round8<T: Number>(lanes: __m256) -> __m128i {
    match T::DTYPE {
        DType::BF16 => {
            let words = bf16_words(lanes);
            _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words))
        }
        DType::F16 => _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(lanes),
        _ => unreachable!("single precision has no sixteen bits"),
    }
}

/// Rounds sixteen numbers to nearest even and returns them as sixteen-bit words, in order. Only
/// for types of sixteen bits.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn round16<T: Number>(low: __m256, high: __m256) -> __m256i {
    if weaves::<T>() {
        // Packing works within 128-bit halves; the permutation puts them in order.
        let words = _mm256_packus_epi32(bf16_words(low), bf16_words(high));
        _mm256_permute4x64_epi64::<0b11_01_10_00>(words)
    } else {
        _mm256_set_m128i(round8::<T>(high), round8::<T>(low))
    }
}

/// These numbers, with NaNs in a form that can be rounded.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn any_nan<T: Number>(lanes: __m256) -> __m256 {
    // The conversion to half precision takes any NaN.
    if !weaves::<T>() {
        return lanes;
    }
    let mask = |bits: u32| _mm256_castsi256_ps(_mm256_set1_epi32(bits.cast_signed()));
    // Make it quiet, and clear the half that is rounded away.
    let upper = _mm256_and_ps(lanes, mask(0xffff_0000));
    let quiet = _mm256_or_ps(upper, mask(0x0040_0000));
    _mm256_blendv_ps(lanes, quiet, _mm256_cmp_ps::<_CMP_UNORD_Q>(lanes, lanes))
}

/// Rounds eight numbers to a type, and back.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn step8<T: Number>(lanes: __m256) -> __m256 {
    match T::DTYPE {
        DType::BF16 => {
            let upper = _mm256_set1_epi32(0xffff_0000_u32.cast_signed());
            _mm256_castsi256_ps(_mm256_and_si256(rounded_to_bf16(lanes), upper))
        }
        DType::F16 => _mm256_cvtph_ps(round8::<T>(lanes)),
        _ => lanes,
    }
}

/// Rounds eight numbers to nearest even and writes them to `at..at + 8`.
///
/// # Safety
///
/// Eight numbers may be written to `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn store8<T: Number>(at: *mut T, lanes: __m256) {
    // SAFETY: eight may be written.
    unsafe {
        if is_16_bit::<T>() {
            _mm_storeu_si128(at.cast(), round8::<T>(lanes));
        } else {
            _mm256_storeu_ps(at.cast(), lanes);
        }
    }
}

/// Rounds sixteen numbers to nearest even and writes them to `at..at + 16`.
///
/// # Safety
///
/// Sixteen numbers may be written to `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn store16<T: Number>(at: *mut T, low: __m256, high: __m256) {
    // SAFETY: sixteen may be written.
    unsafe {
        if weaves::<T>() {
            _mm256_storeu_si256(at.cast(), round16::<T>(low, high));
        } else {
            store8(at, low);
            store8(at.add(8), high);
        }
    }
}

/// Rounds sixteen numbers, the first, third, .. in `even` and the others in `odd`, and writes them
/// to `at..at + 16`.
///
/// # Safety
///
/// Sixteen numbers may be written to `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn store_woven16<T: Number>(at: *mut T, even: __m256, odd: __m256) {
    // SAFETY: sixteen may be written.
    unsafe {
        match T::DTYPE {
            DType::BF16 => {
                let woven =
                    _mm256_blend_epi16::<0b1010_1010>(bf16_words(even), rounded_to_bf16(odd));
                _mm256_storeu_si256(at.cast(), woven);
            }
            DType::F16 => {
                let (even, odd) = (round8::<T>(even), round8::<T>(odd));
                _mm_storeu_si128(at.cast(), _mm_unpacklo_epi16(even, odd));
                _mm_storeu_si128(at.add(8).cast(), _mm_unpackhi_epi16(even, odd));
            }
            _ => {
                let [first, second] =
                    [_mm256_unpacklo_ps(even, odd), _mm256_unpackhi_ps(even, odd)];
                store8(at, _mm256_permute2f128_ps::<0x20>(first, second));
                store8(at.add(8), _mm256_permute2f128_ps::<0x31>(first, second));
            }
        }
    }
}

/// Eight bfloat16 in the lower halves of 32-bit words.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn bf16_words(lanes: __m256) -> __m256i {
    _mm256_srli_epi32::<16>(rounded_to_bf16(lanes))
}

/// Eight bfloat16 in the upper halves of 32-bit words; ignore the lower halves.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn rounded_to_bf16(lanes: __m256) -> __m256i {
    let bits = _mm256_castps_si256(lanes);
    // Half of the last place, less one where the last place is even. (A comparison, since
    // shifts would compete with the shuffles around this for a unit.)
    let last = _mm256_and_si256(bits, _mm256_set1_epi32(0x1_0000));
    let even = _mm256_cmpeq_epi32(last, _mm256_setzero_si256());
    let bias = _mm256_add_epi32(even, _mm256_set1_epi32(0x8000));
    _mm256_add_epi32(bits, bias)
}
