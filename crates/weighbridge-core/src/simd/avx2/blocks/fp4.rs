//! Four-bit floats (a sign, two bits of exponent, one of fraction) with scales of eight bits.

use std::arch::x86_64::*;

use super::codebook::steps_in_lanes;
use super::simple::nibbles32;
use crate::dtype::DType;
use crate::simd::avx2::Table16;
use crate::simd::avx2::lanes::{is_16_bit, store_woven16, store16};
use crate::simd::{Number, avx2};

/// MXFP4.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn mxfp4<T: Number>(
    block: &[u8; 17],
    numbers: &[i8; 16],
    scale: f32,
    finished: &[u8; 32],
    out: &mut [T; 32],
) {
    // SAFETY: everything read lies in the block; twice sixteen are written.
    unsafe {
        let out = out.as_mut_ptr();
        if is_16_bit::<T>() {
            let codes = avx2::crossed_nibbles32(block.as_ptr().add(1));
            return Table16::load(finished).store_crossed32(out, codes);
        }
        steps_in_lanes(numbers, block.as_ptr().add(1), _mm256_set1_ps(scale), out);
    }
}

/// NVFP4.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn nvfp4<T: Number>(
    block: &[u8; 36],
    numbers: &[i8; 16],
    scales: [f32; 4],
    finished: [&[u8; 32]; 4],
    out: &mut [T; 64],
) {
    // SAFETY: everything read lies in the block; four times sixteen are written.
    unsafe {
        if is_16_bit::<T>() {
            let (at, out) = (block.as_ptr(), out.as_mut_ptr());
            for pair in 0..2 {
                // Low nibbles of two groups in the lower half, high nibbles in the upper.
                let codes = nibbles32(at.add(4 + 16 * pair));
                let table = |group| Table16::load(finished[2 * pair + group]);
                let out = out.add(32 * pair).cast::<__m256i>();
                _mm256_storeu_si256(out, table(0).look_up(codes)[0]);
                _mm256_storeu_si256(out.add(1), table(1).look_up(codes)[1]);
            }
            return;
        }
        by_lanes(block, numbers, scales, out, |lanes| lanes);
    }
}

/// The four groups of an NVFP4 block, computed in single precision; `finish` is applied last.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn by_lanes<T: Number>(
    block: &[u8; 36],
    numbers: &[i8; 16],
    scales: [f32; 4],
    out: &mut [T; 64],
    finish: impl Fn(__m256) -> __m256,
) {
    // SAFETY: everything read lies in the block; four times sixteen are written.
    unsafe {
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(numbers.as_ptr().cast()));
        let (bytes, low) = (_mm256_loadu_si256(block.as_ptr().add(4).cast()), _mm256_set1_epi8(15));
        let first = _mm256_shuffle_epi8(table, _mm256_and_si256(bytes, low));
        let second = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low);
        let second = _mm256_shuffle_epi8(table, second);
        // Low nibbles and high nibbles of eight bytes: groups 0 and 2, then 1 and 3.
        let even = _mm256_unpacklo_epi64(first, second);
        let odd = _mm256_unpackhi_epi64(first, second);
        let out = out.as_mut_ptr();
        for (group, values) in [
            _mm256_castsi256_si128(even),
            _mm256_castsi256_si128(odd),
            _mm256_extracti128_si256::<1>(even),
            _mm256_extracti128_si256::<1>(odd),
        ]
        .into_iter()
        .enumerate()
        {
            let scale = _mm256_set1_ps(scales[group]);
            let (out, value) = (out.add(16 * group), |lanes| finish(_mm256_mul_ps(lanes, scale)));
            // Rounding to bf16 needs shuffles too: weaving saves some.
            if T::DTYPE == DType::BF16 {
                let [even, odd] = avx2::apart(_mm256_cvtepi8_epi16(values));
                store_woven16(out, value(even), value(odd));
            } else {
                let (low, high) = (values, _mm_srli_si128::<8>(values));
                store16(out, value(avx2::signed8(low)), value(avx2::signed8(high)));
            }
        }
    }
}

/// NVFP4, each number times a factor: both products are rounded in single precision.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn nvfp4_times<T: Number>(
    block: &[u8; 36],
    numbers: &[i8; 16],
    scales: [f32; 4],
    factor: f32,
    out: &mut [T; 64],
) {
    let factor = _mm256_set1_ps(factor);
    by_lanes(block, numbers, scales, out, |lanes| _mm256_mul_ps(lanes, factor));
}
