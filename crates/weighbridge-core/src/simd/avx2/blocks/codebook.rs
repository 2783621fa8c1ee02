//! Nibbles that choose from a table of sixteen uneven steps.

use std::arch::x86_64::*;

use crate::simd::avx2::lanes::is_16_bit;
use crate::simd::{Number, avx2};

/// Sixteen bytes of nibbles as steps times a scale.
///
/// # Safety
///
/// Sixteen bytes may be read from `nibbles`, 32 numbers written to `out`. The CPU has AVX2, F16C
/// and FMA.
#[inline(always)]
unsafe fn scaled_steps<T: Number>(
    steps: &[i8; 16],
    nibbles: *const u8,
    scale: __m256,
    out: *mut T,
) {
    // SAFETY: sixteen bytes are read, 32 numbers are written.
    unsafe {
        if !is_16_bit::<T>() {
            return steps_in_lanes(steps, nibbles, scale, out);
        }
        // Only sixteen values for 32 elements: scale and round the values, then look them up.
        let steps = _mm_loadu_si128(steps.as_ptr().cast());
        let low = _mm256_mul_ps(scale, avx2::signed8(steps));
        let high = _mm256_mul_ps(scale, avx2::signed8(_mm_srli_si128::<8>(steps)));
        let table = avx2::Table16::new::<T>(low, high);
        table.store_crossed32(out, avx2::crossed_nibbles32(nibbles));
    }
}

/// Stores scaled steps with one scale per number.
///
/// # Safety
///
/// As for [`scaled_steps`].
#[inline(always)]
pub(super) unsafe fn steps_in_lanes<T: Number>(
    steps: &[i8; 16],
    nibbles: *const u8,
    scale: __m256,
    out: *mut T,
) {
    // SAFETY: sixteen bytes are read, 32 numbers are written.
    unsafe {
        let steps = _mm_loadu_si128(steps.as_ptr().cast());
        let (bytes, low) = (_mm_loadu_si128(nibbles.cast()), _mm_set1_epi8(15));
        let first = _mm_shuffle_epi8(steps, _mm_and_si128(bytes, low));
        let second = _mm_shuffle_epi8(steps, _mm_and_si128(_mm_srli_epi16::<4>(bytes), low));
        avx2::scaled16(out, first, scale);
        avx2::scaled16(out.add(16), second, scale);
    }
}

/// IQ4_NL.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn iq4_nl<T: Number>(block: &[u8; 18], steps: &[i8; 16], out: &mut [T; 32]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let scale = _mm256_set1_ps(avx2::half(block.as_ptr()));
        scaled_steps(steps, block.as_ptr().add(2), scale, out.as_mut_ptr());
    }
}

/// The scales of the eight groups.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn group_scales(block: &[u8; 136]) -> [f32; 8] {
    let mut scales = [0.0; 8];
    // SAFETY: everything read lies in the block; eight are written.
    unsafe {
        let at = block.as_ptr();
        let upper = i32::from(at.add(2).cast::<i16>().read_unaligned());
        let lower = at.add(4).cast::<i32>().read_unaligned();
        let upper = _mm256_srlv_epi32(
            _mm256_set1_epi32(upper << 4),
            _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14),
        );
        let lower = _mm256_srlv_epi32(
            _mm256_set1_epi32(lower),
            _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28),
        );
        let scale = _mm256_or_si256(
            _mm256_and_si256(upper, _mm256_set1_epi32(0x30)),
            _mm256_and_si256(lower, _mm256_set1_epi32(0x0f)),
        );
        let signed = _mm256_cvtepi32_ps(_mm256_sub_epi32(scale, _mm256_set1_epi32(32)));
        let d = _mm256_set1_ps(avx2::half(at));
        _mm256_storeu_ps(scales.as_mut_ptr(), _mm256_mul_ps(d, signed));
    }
    scales
}

/// IQ4_XS.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn iq4_xs<T: Number>(block: &[u8; 136], steps: &[i8; 16], out: &mut [T; 256]) {
    // SAFETY: everything read lies in the block; 8 times 32 are written.
    unsafe {
        let (nibbles, out) = (block.as_ptr().add(8), out.as_mut_ptr());
        for (group, scale) in group_scales(block).into_iter().enumerate() {
            let scale = _mm256_set1_ps(scale);
            scaled_steps(steps, nibbles.add(16 * group), scale, out.add(32 * group));
        }
    }
}
