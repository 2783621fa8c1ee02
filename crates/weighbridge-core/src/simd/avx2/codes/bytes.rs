//! Codes of one byte: whole numbers and floats of eight bits.

use std::arch::x86_64::*;

use super::combined;
use crate::simd::Number;
use crate::simd::avx2;
use crate::simd::avx2::lanes::store_woven16;
use crate::simd::codes::{Arithmetic, CodeKind, Factor, Rule};

/// How many times too small [`e4m3_apart`]'s numbers are.
const POWER: f32 = 256.0;

/// Whether every scale stays finite when multiplied by [`POWER`].
#[inline(always)]
pub(super) fn have_room(factors: &[Factor]) -> bool {
    factors.iter().fold(true, |all, factor| all & (factor.scale * POWER).is_finite())
}

/// Decodes a group of E4M3 numbers; `false` if one of them is NaN.
///
/// # Safety
///
/// As many bytes as `out` has elements may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn e4m3_group<T: Number>(scale: f32, at: *const u8, out: &mut [T]) -> bool {
    // SAFETY: sixteen bytes are read for every sixteen elements; the caller provides them.
    unsafe {
        let scale = _mm256_set1_ps(scale * POWER);
        let mut nans = _mm_setzero_si128();
        for (index, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let bytes = _mm_loadu_si128(at.add(index * 16).cast());
            nans = _mm_or_si128(nans, e4m3_nans(bytes));
            let [even, odd] = e4m3_apart(bytes);
            store_woven16(out.as_mut_ptr(), _mm256_mul_ps(even, scale), _mm256_mul_ps(odd, scale));
        }
        _mm_movemask_epi8(nans) == 0
    }
}

/// Bytes that each hold a number, sixteen at a time.
///
/// # Safety
///
/// As many bytes as `out` has elements may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn bytes16<T: Number>(
    kind: CodeKind,
    rule: Rule<'_>,
    factor: Factor,
    at: *const u8,
    out: &mut [T],
) -> usize {
    let mut done = 0;
    let (power, factor) = match kind {
        CodeKind::E4m3 => e4m3_factor(rule.arithmetic, factor),
        _ => (None, factor),
    };
    // SAFETY: as many bytes as elements are read; the caller provides them.
    unsafe {
        while done + 16 <= out.len() {
            let bytes = _mm_loadu_si128(at.add(done).cast());
            if kind == CodeKind::E4m3 && _mm_movemask_epi8(e4m3_nans(bytes)) != 0 {
                break;
            }
            let [mut even, mut odd] = match kind {
                CodeKind::Signed => avx2::apart(_mm256_cvtepi8_epi16(bytes)),
                CodeKind::Unsigned => avx2::apart(_mm256_cvtepu8_epi16(bytes)),
                CodeKind::E5m2 => e5m2_apart(bytes),
                _ => e4m3_apart(bytes),
            };
            if let Some(power) = power {
                even = _mm256_mul_ps(even, _mm256_set1_ps(power));
                odd = _mm256_mul_ps(odd, _mm256_set1_ps(power));
            }
            let even = combined::<T>(rule, factor, even);
            let odd = combined::<T>(rule, factor, odd);
            store_woven16(out.as_mut_ptr().add(done), even, odd);
            done += 16;
        }
    }
    done
}

/// The power of two that [`e4m3_apart`]'s numbers still need: part of the scale where that
/// changes no result, otherwise apart from it.
#[inline(always)]
fn e4m3_factor(arithmetic: Arithmetic, factor: Factor) -> (Option<f32>, Factor) {
    let scale = factor.scale * POWER;
    if arithmetic == Arithmetic::Times && scale.is_finite() {
        (None, Factor { scale, ..factor })
    } else {
        (Some(POWER), factor)
    }
}

/// Which of sixteen bytes are NaNs of E4M3, which are left to the definition.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn e4m3_nans(bytes: __m128i) -> __m128i {
    let magnitude = _mm_set1_epi8(0x7f);
    _mm_cmpeq_epi8(_mm_and_si128(bytes, magnitude), magnitude)
}

/// Sixteen bytes of E4M3 as even and odd numbers, 256 times too small. They go through half
/// precision, which has one more exponent bit and widens subnormal numbers as fast as others.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn e4m3_apart(bytes: __m128i) -> [__m256; 2] {
    // The shift doubles the sign; the mask removes the copy and keeps exponent and fraction.
    let mask = _mm_set1_epi16(0xbf80_u16.cast_signed());
    let even = _mm_srai_epi16::<1>(_mm_slli_epi16::<8>(bytes));
    let odd = _mm_srai_epi16::<1>(bytes);
    [_mm256_cvtph_ps(_mm_and_si128(even, mask)), _mm256_cvtph_ps(_mm_and_si128(odd, mask))]
}

/// Sixteen bytes of E5M2 as even and odd numbers: half precision without its lower byte.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn e5m2_apart(bytes: __m128i) -> [__m256; 2] {
    let even = _mm_and_si128(bytes, _mm_set1_epi16(0xff));
    let even = _mm_slli_epi16::<8>(even);
    let odd = _mm_and_si128(bytes, _mm_set1_epi16(0xff00_u16.cast_signed()));
    [_mm256_cvtph_ps(even), _mm256_cvtph_ps(odd)]
}
