//! One or two bits per weight, and one scale.

use std::arch::x86_64::*;

use super::four::{Four, pick8};
use crate::simd::avx2::lanes::{is_16_bit, round16, store16};
use crate::simd::{Number, avx2};

/// Sixteen bits as words: `word` where the bit is set, otherwise zero.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn words_of_bits(bits: i16, word: i16) -> __m256i {
    let each = _mm256_setr_epi16(
        1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768,
    );
    let set = _mm256_cmpeq_epi16(_mm256_and_si256(_mm256_set1_epi16(bits), each), each);
    _mm256_and_si256(set, _mm256_set1_epi16(word))
}

/// Q1_0.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q1_0<T: Number>(block: &[u8; 18], out: &mut [T; 128]) {
    // SAFETY: everything read lies in the block; eight times sixteen are written.
    unsafe {
        let (bits, out) = (block.as_ptr().add(2).cast::<i16>(), out.as_mut_ptr());
        let set = _mm256_set1_ps(avx2::half(block.as_ptr()));
        let clear = _mm256_xor_ps(set, _mm256_set1_ps(-0.0));
        for index in 0..8 {
            let (bits, out) = (bits.add(index).read_unaligned(), out.add(16 * index));
            if is_16_bit::<T>() {
                let (set, clear) = (round16::<T>(set, set), round16::<T>(clear, clear));
                let words = _mm256_blendv_epi8(clear, set, words_of_bits(bits, -1));
                _mm256_storeu_si256(out.cast(), words);
            } else {
                // Each bit moves to the sign of its lane, by which the blend chooses.
                let bits = _mm256_set1_epi32(bits.into());
                let low = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
                let high = _mm256_setr_epi32(23, 22, 21, 20, 19, 18, 17, 16);
                let choose = |shift| {
                    let moved = _mm256_castsi256_ps(_mm256_sllv_epi32(bits, shift));
                    _mm256_blendv_ps(clear, set, moved)
                };
                store16(out, choose(low), choose(high));
            }
        }
    }
}

/// The 32 pairs of bits of eight bytes, as bytes that are [`avx2::crossed`].
///
/// # Safety
///
/// Eight bytes may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn pairs32(at: *const u8) -> __m256i {
    // SAFETY: eight bytes may be read.
    unsafe {
        let bytes = _mm256_set1_epi64x(at.cast::<i64>().read_unaligned());
        let one_a_lane = _mm256_setr_epi8(
            0, -1, -1, -1, 1, -1, -1, -1, 4, -1, -1, -1, 5, -1, -1, -1, //
            2, -1, -1, -1, 3, -1, -1, -1, 6, -1, -1, -1, 7, -1, -1, -1,
        );
        let lanes = _mm256_shuffle_epi8(bytes, one_a_lane);
        // The second pair of bits moves to the second byte of its lane, and so on.
        let two = _mm256_or_si256(lanes, _mm256_slli_epi32::<6>(lanes));
        let four = _mm256_or_si256(two, _mm256_slli_epi32::<12>(two));
        _mm256_and_si256(four, _mm256_set1_epi8(3))
    }
}

/// Q2_0.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn q2_0<T: Number>(block: &[u8; 18], out: &mut [T; 64]) {
    // SAFETY: everything read lies in the block; 64 are written.
    unsafe {
        let (at, out) = (block.as_ptr(), out.as_mut_ptr());
        match Four::from_minus_one::<T>(avx2::half(at)) {
            table @ Four::Table(_) => {
                table.store_crossed32(out, pairs32(at.add(2)));
                table.store_crossed32(out.add(32), pairs32(at.add(10)));
            }
            Four::Lanes(lanes) => {
                for index in 0..4 {
                    let pairs = at.add(2 + 4 * index).cast::<i32>().read_unaligned();
                    let (pairs, out) = (_mm256_set1_epi32(pairs), out.add(16 * index));
                    let low = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
                    let high = _mm256_setr_epi32(16, 18, 20, 22, 24, 26, 28, 30);
                    pick8(out, lanes, _mm256_srlv_epi32(pairs, low));
                    pick8(out.add(8), lanes, _mm256_srlv_epi32(pairs, high));
                }
            }
        }
    }
}
