//! Nibbles that choose from a table of sixteen uneven steps.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | IQ4_NL | f16 `d`; 16 bytes of nibbles | d step(q) |
//! | IQ4_XS | f16 `d`; eight 2-bit upper parts of scales; eight 4-bit lower parts; eight times 16 bytes of nibbles | (d (s - 32)) step(q) |
//!
//! In each 16 bytes low nibbles are elements 0 to 15, high nibbles elements 16 to 31. A scale `s`
//! of IQ4_XS belongs to 32 elements.
#![allow(unsafe_code)] // The AVX2 forms.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::kernel::{Blocks, Kernel, half_at, kernel};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Number, avx2};

pub(super) static KERNELS: &[Kernel] = &[kernel::<Iq4Nl, 18, 32>(), kernel::<Iq4Xs, 136, 256>()];

/// What the sixteen nibbles stand for.
const STEPS: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Sixteen bytes of nibbles as steps times a scale.
#[inline(always)]
fn steps_times_scale(nibbles: &[u8; 16], scale: f32, out: &mut [f32; 32]) {
    let (low, high) = out.split_at_mut(16);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(nibbles) {
        *low = scale * f32::from(STEPS[usize::from(byte & 15)]);
        *high = scale * f32::from(STEPS[usize::from(byte >> 4)]);
    }
}

/// The same, in any output type.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn steps_avx2<T: Number>(nibbles: *const u8, scale: __m256, out: *mut T) {
    // SAFETY: sixteen bytes are read, 32 numbers are written.
    unsafe {
        let steps = _mm_loadu_si128(STEPS.as_ptr().cast());
        if T::IS_16_BIT {
            // Sixteen values are fewer than 32: they are finished first.
            let low = _mm256_mul_ps(scale, avx2::signed8(steps));
            let high = _mm256_mul_ps(scale, avx2::signed8(_mm_srli_si128::<8>(steps)));
            let table = avx2::Table16::new::<T>(low, high);
            return table.store_crossed32(out, avx2::crossed_nibbles32(nibbles));
        }
        let (bytes, low) = (_mm_loadu_si128(nibbles.cast()), _mm_set1_epi8(15));
        let first = _mm_shuffle_epi8(steps, _mm_and_si128(bytes, low));
        let second = _mm_shuffle_epi8(steps, _mm_and_si128(_mm_srli_epi16::<4>(bytes), low));
        avx2::scaled16(out, first, scale);
        avx2::scaled16(out.add(16), second, scale);
    }
}

struct Iq4Nl;

impl Blocks<18, 32> for Iq4Nl {
    const NAME: &'static str = "IQ4_NL";

    #[inline(always)]
    fn define(block: &[u8; 18], out: &mut [f32; 32]) {
        steps_times_scale(&block[2..].as_chunks().0[0], half_at(block, 0), out);
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 18], out: &mut [T; 32]) {
        // SAFETY: everything read lies in the block.
        unsafe {
            let scale = _mm256_set1_ps(avx2::half(block.as_ptr()));
            steps_avx2(block.as_ptr().add(2), scale, out.as_mut_ptr());
        }
    }
}

struct Iq4Xs;

/// The scales of the eight groups of an IQ4_XS block.
#[inline(always)]
fn group_scales(block: &[u8; 136]) -> [f32; 8] {
    let d = half_at(block, 0);
    let upper = u16::from_le_bytes([block[2], block[3]]);
    std::array::from_fn(|group| {
        let lower = block[4 + group / 2] >> (group % 2 * 4) & 15;
        let scale = i16::from(lower) | ((upper >> (group * 2) & 3) << 4).cast_signed();
        d * f32::from(scale - 32)
    })
}

/// The same in lanes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn group_scales_avx2(block: &[u8; 136]) -> [f32; 8] {
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

impl Blocks<136, 256> for Iq4Xs {
    const NAME: &'static str = "IQ4_XS";

    #[inline(always)]
    fn define(block: &[u8; 136], out: &mut [f32; 256]) {
        let groups = block[8..].as_chunks().0.iter().zip(out.as_chunks_mut().0);
        for ((nibbles, out), scale) in groups.zip(group_scales(block)) {
            steps_times_scale(nibbles, scale, out);
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 136], out: &mut [T; 256]) {
        // SAFETY: everything read lies in the block; 8 times 32 are written.
        unsafe {
            let (nibbles, out) = (block.as_ptr().add(8), out.as_mut_ptr());
            for (group, scale) in group_scales_avx2(block).into_iter().enumerate() {
                let scale = _mm256_set1_ps(scale);
                steps_avx2(nibbles.add(16 * group), scale, out.add(32 * group));
            }
        }
    }
}
