//! Elements with at most four values: each value is computed once, then looked up.

use std::arch::x86_64::*;

use crate::simd::Number;
use crate::simd::avx2::Table16;
use crate::simd::avx2::lanes::{is_16_bit, store8};

/// Four finished numbers of an output type.
#[derive(Clone, Copy)]
pub(super) enum Four {
    /// In single precision, held twice.
    Lanes(__m256),
    /// Rounded to 16 bits, held four times.
    Table(Table16),
}

impl Four {
    /// What the codes 0 to 3 stand for, to be written as `T`.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(super) fn new<T: Number>([a, b, c, d]: [f32; 4]) -> Self {
        let lanes = _mm256_setr_ps(a, b, c, d, a, b, c, d);
        if is_16_bit::<T>() {
            Self::Table(Table16::new::<T>(lanes, lanes))
        } else {
            Self::Lanes(lanes)
        }
    }

    /// `-scale`, 0 times `scale`, `scale`, and twice `scale`.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(super) fn from_minus_one<T: Number>(scale: f32) -> Self {
        Self::new::<T>([-1.0, 0.0, 1.0, 2.0].map(|value| value * scale))
    }

    /// Writes the numbers of 32 codes, [`crossed`](crate::simd::avx2::crossed) bytes.
    ///
    /// # Safety
    ///
    /// 32 numbers may be written to `at`. The CPU has AVX2, F16C and FMA.
    #[inline(always)]
    pub(super) unsafe fn store_crossed32<T: Number>(self, at: *mut T, codes: __m256i) {
        // SAFETY: 32 are written.
        unsafe {
            let lanes = match self {
                Self::Table(table) => return table.store_crossed32(at, codes),
                Self::Lanes(lanes) => lanes,
            };
            let halves = [_mm256_castsi256_si128(codes), _mm256_extracti128_si256::<1>(codes)];
            for (at, half) in [at, at.add(8)].into_iter().zip(halves) {
                pick8(at, lanes, _mm256_cvtepu8_epi32(half));
                pick8(at.add(16), lanes, _mm256_cvtepu8_epi32(_mm_srli_si128::<8>(half)));
            }
        }
    }
}

/// Writes the numbers that the lowest two bits of each code pick from the four that `lanes` holds
/// twice.
///
/// # Safety
///
/// Eight numbers may be written to `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn pick8<T: Number>(at: *mut T, lanes: __m256, codes: __m256i) {
    // SAFETY: eight are written.
    unsafe { store8(at, _mm256_permutevar_ps(lanes, codes)) }
}
