//! Eight single-precision lanes, written as any type of numbers.
//!
//! Everything here and in the files beside it is `#[inline(always)]` without `#[target_feature]`:
//! it becomes part of the task that calls it and is compiled with that task's instructions.
//! Calling it on a CPU without AVX2, F16C and FMA is undefined behaviour; that is why all of it
//! is `unsafe`.
#![allow(unsafe_code, clippy::missing_safety_doc)]

use std::arch::x86_64::*;

use half::{bf16, f16};

/// A number that eight lanes can be narrowed to.
///
/// A NaN in the lanes must have only the highest bit of its fraction set, as it does after
/// arithmetic on the results of [`half_to_f32`](crate::simd::half_to_f32): rounding cannot turn
/// such a NaN into anything else, and need not test for it. Other lanes go through
/// [`any_nan`](Lanes::any_nan) first.
pub trait Lanes: Sized {
    /// Whether a number has sixteen bits, so that a [`Table16`](super::Table16) of them pays.
    const IS_16_BIT: bool;

    /// Rounds sixteen numbers to nearest even and returns them as sixteen-bit words, in order. Only
    /// for types of sixteen bits.
    unsafe fn round16(low: __m256, high: __m256) -> __m256i;

    /// The same numbers, with NaNs in a form that can be rounded.
    #[inline(always)]
    unsafe fn any_nan(lanes: __m256) -> __m256 {
        lanes
    }

    /// Rounds eight numbers to this type, and back.
    #[inline(always)]
    unsafe fn step8(lanes: __m256) -> __m256 {
        lanes
    }

    /// Rounds eight numbers to nearest even and writes them to `at..at + 8`.
    unsafe fn store8(at: *mut Self, lanes: __m256);

    /// Rounds sixteen numbers to nearest even and writes them to `at..at + 16`.
    unsafe fn store16(at: *mut Self, low: __m256, high: __m256);

    /// Whether [`store_woven16`](Self::store_woven16) is the cheaper way to write sixteen numbers,
    /// for a kernel that can have its lanes in either order.
    const WEAVES: bool;

    /// Rounds sixteen numbers, the first, third, .. in `even` and the others in `odd`, and writes
    /// them to `at..at + 16`.
    unsafe fn store_woven16(at: *mut Self, even: __m256, odd: __m256);
}

impl Lanes for f32 {
    const IS_16_BIT: bool = false;
    const WEAVES: bool = false;

    #[inline(always)]
    unsafe fn round16(_: __m256, _: __m256) -> __m256i {
        unreachable!("single precision has no sixteen bits")
    }

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
    unsafe fn store_woven16(at: *mut Self, even: __m256, odd: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            let (first, second) = (_mm256_unpacklo_ps(even, odd), _mm256_unpackhi_ps(even, odd));
            Self::store8(at, _mm256_permute2f128_ps::<0x20>(first, second));
            Self::store8(at.add(8), _mm256_permute2f128_ps::<0x31>(first, second));
        }
    }
}

impl Lanes for bf16 {
    const IS_16_BIT: bool = true;
    const WEAVES: bool = true;

    #[inline(always)]
    unsafe fn round16(low: __m256, high: __m256) -> __m256i {
        // SAFETY: registers only.
        unsafe {
            // Packing works within 128-bit halves; the permutation puts them in order.
            let words = _mm256_packus_epi32(bf16_words(low), bf16_words(high));
            _mm256_permute4x64_epi64::<0b11_01_10_00>(words)
        }
    }

    #[inline(always)]
    unsafe fn step8(lanes: __m256) -> __m256 {
        // SAFETY: registers only.
        unsafe {
            let upper = _mm256_set1_epi32(0xffff_0000_u32.cast_signed());
            _mm256_castsi256_ps(_mm256_and_si256(rounded_to_bf16(lanes), upper))
        }
    }

    #[inline(always)]
    unsafe fn any_nan(lanes: __m256) -> __m256 {
        // SAFETY: registers only.
        unsafe {
            let mask = |bits: u32| _mm256_castsi256_ps(_mm256_set1_epi32(bits.cast_signed()));
            // Make it quiet, and clear the half that is rounded away.
            let upper = _mm256_and_ps(lanes, mask(0xffff_0000));
            let quiet = _mm256_or_ps(upper, mask(0x0040_0000));
            _mm256_blendv_ps(lanes, quiet, _mm256_cmp_ps::<_CMP_UNORD_Q>(lanes, lanes))
        }
    }

    #[inline(always)]
    unsafe fn store8(at: *mut Self, lanes: __m256) {
        // SAFETY: eight may be written.
        unsafe {
            let rounded = bf16_words(lanes);
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
            _mm256_storeu_si256(at.cast(), Self::round16(low, high));
        }
    }

    #[inline(always)]
    unsafe fn store_woven16(at: *mut Self, even: __m256, odd: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            let even = _mm256_srli_epi32::<16>(rounded_to_bf16(even));
            let woven = _mm256_blend_epi16::<0b1010_1010>(even, rounded_to_bf16(odd));
            _mm256_storeu_si256(at.cast(), woven);
        }
    }
}

/// Eight bfloat16 in the lower halves of 32-bit words.
#[inline(always)]
unsafe fn bf16_words(lanes: __m256) -> __m256i {
    // SAFETY: registers only.
    unsafe { _mm256_srli_epi32::<16>(rounded_to_bf16(lanes)) }
}

/// Eight bfloat16 in the upper halves of 32-bit words; ignore the lower halves.
#[inline(always)]
unsafe fn rounded_to_bf16(lanes: __m256) -> __m256i {
    // SAFETY: registers only.
    unsafe {
        let bits = _mm256_castps_si256(lanes);
        // Half of the last place, less one where the last place is even. (A comparison, since
        // shifts would compete with the shuffles around this for a unit.)
        let last = _mm256_and_si256(bits, _mm256_set1_epi32(0x1_0000));
        let even = _mm256_cmpeq_epi32(last, _mm256_setzero_si256());
        let bias = _mm256_add_epi32(even, _mm256_set1_epi32(0x8000));
        _mm256_add_epi32(bits, bias)
    }
}

impl Lanes for f16 {
    const IS_16_BIT: bool = true;
    const WEAVES: bool = false;

    #[inline(always)]
    unsafe fn round16(low: __m256, high: __m256) -> __m256i {
        // SAFETY: registers only.
        unsafe {
            _mm256_set_m128i(
                _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(high),
                _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(low),
            )
        }
    }

    #[inline(always)]
    unsafe fn step8(lanes: __m256) -> __m256 {
        // SAFETY: registers only.
        unsafe { _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(lanes)) }
    }

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
    unsafe fn store_woven16(at: *mut Self, even: __m256, odd: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            let even = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(even);
            let odd = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(odd);
            _mm_storeu_si128(at.cast(), _mm_unpacklo_epi16(even, odd));
            _mm_storeu_si128(at.add(8).cast(), _mm_unpackhi_epi16(even, odd));
        }
    }
}
