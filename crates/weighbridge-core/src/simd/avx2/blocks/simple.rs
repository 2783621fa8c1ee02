//! The first generation: blocks of 32 with one scale and, in some types, one minimum.

use std::arch::x86_64::*;

use super::bits::words_of_bits;
use crate::simd::avx2::lanes::{is_16_bit, store_woven16, store16};
use crate::simd::{Number, avx2};

/// 32 nibbles as bytes, in the order of the elements.
///
/// # Safety
///
/// Sixteen bytes may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn nibbles32(at: *const u8) -> __m256i {
    // SAFETY: sixteen bytes may be read.
    unsafe {
        let bytes = _mm_loadu_si128(at.cast());
        let both = _mm256_set_m128i(_mm_srli_epi16::<4>(bytes), bytes);
        _mm256_and_si256(both, _mm256_set1_epi8(15))
    }
}

/// The 32 codes of a block of five bits as words, elements 0 to 15 and 16 to 31.
///
/// # Safety
///
/// Four bytes may be read from `fifths`, sixteen from `nibbles`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn five_bits32(fifths: *const u8, nibbles: *const u8) -> [__m256i; 2] {
    // SAFETY: four bytes and sixteen bytes may be read.
    unsafe {
        let bytes = _mm256_cvtepu8_epi16(_mm_loadu_si128(nibbles.cast()));
        let low = _mm256_and_si256(bytes, _mm256_set1_epi16(15));
        let high = _mm256_srli_epi16::<4>(bytes);
        let [first, last] = fifths.cast::<[i16; 2]>().read_unaligned();
        [
            _mm256_or_si256(low, words_of_bits(first, 16)),
            _mm256_or_si256(high, words_of_bits(last, 16)),
        ]
    }
}

/// 32 signed bytes times a scale.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn scaled32<T: Number>(out: &mut [T; 32], bytes: __m256i, scale: f32) {
    // SAFETY: 32 are written.
    unsafe {
        let (at, scale) = (out.as_mut_ptr(), _mm256_set1_ps(scale));
        avx2::scaled16(at, _mm256_castsi256_si128(bytes), scale);
        avx2::scaled16(at.add(16), _mm256_extracti128_si256::<1>(bytes), scale);
    }
}

/// 32 unsigned bytes times a scale, plus a minimum; rounded after each step.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn scaled32_from<T: Number>(out: &mut [T; 32], bytes: __m256i, scale: f32, minimum: f32) {
    // SAFETY: 32 are written.
    unsafe {
        let (scale, minimum) = (_mm256_set1_ps(scale), _mm256_set1_ps(minimum));
        let value = |bytes| _mm256_add_ps(_mm256_mul_ps(avx2::unsigned8(bytes), scale), minimum);
        for (half, at) in [
            (_mm256_castsi256_si128(bytes), out.as_mut_ptr()),
            (_mm256_extracti128_si256::<1>(bytes), out.as_mut_ptr().add(16)),
        ] {
            store16(at, value(half), value(_mm_srli_si128::<8>(half)));
        }
    }
}

/// Q4_0.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q4_0<T: Number>(block: &[u8; 18], out: &mut [T; 32]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let (at, scale) = (block.as_ptr(), avx2::half(block.as_ptr()));
        if is_16_bit::<T>() {
            let (scale, middle) = (_mm256_set1_ps(scale), _mm256_set1_ps(8.0));
            let value = |q| _mm256_mul_ps(_mm256_sub_ps(q, middle), scale);
            let table = avx2::Table16::counted::<T>(value);
            table.store_crossed32(out.as_mut_ptr(), avx2::crossed_nibbles32(at.add(2)));
        } else {
            let signed = _mm256_sub_epi8(nibbles32(at.add(2)), _mm256_set1_epi8(8));
            scaled32(out, signed, scale);
        }
    }
}

/// Q4_1.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q4_1<T: Number>(block: &[u8; 20], out: &mut [T; 32]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        let (scale, minimum) = (avx2::half(at), avx2::half(at.add(2)));
        if is_16_bit::<T>() {
            let (scale, minimum) = (_mm256_set1_ps(scale), _mm256_set1_ps(minimum));
            let value = |q| _mm256_add_ps(_mm256_mul_ps(q, scale), minimum);
            let table = avx2::Table16::counted::<T>(value);
            table.store_crossed32(out.as_mut_ptr(), avx2::crossed_nibbles32(at.add(4)));
        } else {
            scaled32_from(out, nibbles32(at.add(4)), scale, minimum);
        }
    }
}

/// Q5_0.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q5_0<T: Number>(block: &[u8; 22], out: &mut [T; 32]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        let scale = _mm256_set1_ps(avx2::half(at));
        let [low, high] = five_bits32(at.add(2), at.add(6));
        let middle = _mm256_set1_epi16(16);
        avx2::scaled_words16(out.as_mut_ptr(), _mm256_sub_epi16(low, middle), scale);
        avx2::scaled_words16(out.as_mut_ptr().add(16), _mm256_sub_epi16(high, middle), scale);
    }
}

/// Q5_1.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q5_1<T: Number>(block: &[u8; 24], out: &mut [T; 32]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        let scale = _mm256_set1_ps(avx2::half(at));
        let minimum = _mm256_set1_ps(avx2::half(at.add(2)));
        let [low, high] = five_bits32(at.add(4), at.add(8));
        let value = |lanes| _mm256_add_ps(_mm256_mul_ps(lanes, scale), minimum);
        for (at, words) in [(out.as_mut_ptr(), low), (out.as_mut_ptr().add(16), high)] {
            let [even, odd] = avx2::apart(words);
            store_woven16(at, value(even), value(odd));
        }
    }
}

/// 32 signed bytes times a scale, straight from memory.
///
/// # Safety
///
/// 32 bytes may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn scaled_bytes32<T: Number>(out: &mut [T; 32], at: *const u8, scale: f32) {
    // SAFETY: 32 bytes may be read, 32 numbers are written.
    unsafe {
        let scale = _mm256_set1_ps(scale);
        for half in [0, 16] {
            let bytes = _mm_loadu_si128(at.add(half).cast());
            if is_16_bit::<T>() {
                let words = _mm256_cvtepi8_epi16(bytes);
                avx2::scaled_words16(out.as_mut_ptr().add(half), words, scale);
            } else {
                avx2::scaled16(out.as_mut_ptr().add(half), bytes, scale);
            }
        }
    }
}

/// Q8_0.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q8_0<T: Number>(block: &[u8; 34], out: &mut [T; 32]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        scaled_bytes32(out, at.add(2), avx2::half(at));
    }
}

/// Q8_1.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q8_1<T: Number>(block: &[u8; 36], out: &mut [T; 32]) {
    // SAFETY: everything read lies in the block.
    unsafe {
        let at = block.as_ptr();
        scaled_bytes32(out, at.add(4), avx2::half(at));
    }
}

/// APR_Q4.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn apr_q4<T: Number>(block: &[u8; 18], out: &mut [T; 32]) {
    // SAFETY: everything read lies in the block, 32 are written.
    unsafe {
        let (at, out) = (block.as_ptr(), out.as_mut_ptr());
        let scale = _mm256_set1_ps(avx2::half(at));
        let bytes = _mm_loadu_si128(at.add(2).cast());
        let signed =
            |nibbles| _mm_sub_epi8(_mm_and_si128(nibbles, _mm_set1_epi8(15)), _mm_set1_epi8(8));
        let (even, odd) = (signed(bytes), signed(_mm_srli_epi16::<4>(bytes)));
        avx2::scaled16(out, _mm_unpacklo_epi8(even, odd), scale);
        avx2::scaled16(out.add(16), _mm_unpackhi_epi8(even, odd), scale);
    }
}
