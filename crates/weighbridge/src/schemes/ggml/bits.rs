//! One or two bits a weight, and one scale.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | Q1_0 | f16 `d`; 128 bits | d where the bit is set, else -d |
//! | Q2_0 | f16 `d`; 64 times 2 bits | (q - 1) d |
//!
//! The lowest bits of a byte come first.
#![allow(unsafe_code)] // The AVX2 forms.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::kernel::{Blocks, Kernel, half_at, kernel};
#[cfg(target_arch = "x86_64")]
use super::lookup::Four;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Number, avx2};

pub(super) static KERNELS: &[Kernel] = &[kernel::<Q1_0, 18, 128>(), kernel::<Q2_0, 18, 64>()];

/// One number sixteen times, rounded to `T`, where that has 16 bits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn word16<T: Number>(lanes: __m256) -> __m256i {
    let mut words = [T::default(); 16];
    // SAFETY: sixteen are written; as many bytes are read as half of the longest type's.
    unsafe {
        T::store16(words.as_mut_ptr(), lanes, lanes);
        _mm256_loadu_si256(words.as_ptr().cast())
    }
}

struct Q1_0;

impl Blocks<18, 128> for Q1_0 {
    const NAME: &'static str = "Q1_0";

    #[inline(always)]
    fn define(block: &[u8; 18], out: &mut [f32; 128]) {
        let d = half_at(block, 0);
        for (byte, out) in block[2..].iter().zip(out.as_chunks_mut::<8>().0) {
            for (bit, out) in out.iter_mut().enumerate() {
                *out = if byte >> bit & 1 == 1 { d } else { -d };
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 18], out: &mut [T; 128]) {
        // SAFETY: everything read lies in the block; eight times sixteen are written.
        unsafe {
            let (bits, out) = (block.as_ptr().add(2).cast::<i16>(), out.as_mut_ptr());
            let set = _mm256_set1_ps(avx2::half(block.as_ptr()));
            let clear = _mm256_xor_ps(set, _mm256_set1_ps(-0.0));
            let (set16, clear16) = (word16::<T>(set), word16::<T>(clear));
            for index in 0..8 {
                let (bits, out) = (bits.add(index).read_unaligned(), out.add(16 * index));
                if size_of::<T>() == 2 {
                    let each = _mm256_setr_epi16(
                        1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
                        -32768,
                    );
                    let chosen = _mm256_and_si256(_mm256_set1_epi16(bits), each);
                    let chosen = _mm256_cmpeq_epi16(chosen, each);
                    let words = _mm256_blendv_epi8(clear16, set16, chosen);
                    _mm256_storeu_si256(out.cast(), words);
                } else {
                    // Each bit moves to where a sign is, which chooses.
                    let bits = _mm256_set1_epi32(bits.into());
                    let low = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
                    let high = _mm256_setr_epi32(23, 22, 21, 20, 19, 18, 17, 16);
                    let choose = |shift| {
                        let moved = _mm256_castsi256_ps(_mm256_sllv_epi32(bits, shift));
                        _mm256_blendv_ps(clear, set, moved)
                    };
                    T::store16(out, choose(low), choose(high));
                }
            }
        }
    }
}

/// The 32 pairs of bits of eight bytes, in the order that [`Four::store32`] asks for.
#[cfg(target_arch = "x86_64")]
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
        // The second pair of bits comes to the second byte of its lane, and so on.
        let two = _mm256_or_si256(lanes, _mm256_slli_epi32::<6>(lanes));
        let four = _mm256_or_si256(two, _mm256_slli_epi32::<12>(two));
        _mm256_and_si256(four, _mm256_set1_epi8(3))
    }
}

struct Q2_0;

impl Blocks<18, 64> for Q2_0 {
    const NAME: &'static str = "Q2_0";

    #[inline(always)]
    fn define(block: &[u8; 18], out: &mut [f32; 64]) {
        let d = half_at(block, 0);
        for (byte, out) in block[2..].iter().zip(out.as_chunks_mut::<4>().0) {
            for (index, out) in out.iter_mut().enumerate() {
                *out = f32::from((byte >> (2 * index) & 3).cast_signed() - 1) * d;
            }
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 18], out: &mut [T; 64]) {
        // SAFETY: everything read lies in the block; 64 are written.
        unsafe {
            let (at, out) = (block.as_ptr(), out.as_mut_ptr());
            let d = avx2::half(at);
            let values = Four::new::<T>([-1.0, 0.0, 1.0, 2.0].map(|value| value * d));
            if size_of::<T>() == 2 {
                for half in 0..2 {
                    values.store32(out.add(32 * half), pairs32(at.add(2 + 8 * half)));
                }
                return;
            }
            for index in 0..4 {
                let pairs = at.add(2 + 4 * index).cast::<i32>().read_unaligned();
                let pairs = _mm256_set1_epi32(pairs);
                let low = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
                let high = _mm256_setr_epi32(16, 18, 20, 22, 24, 26, 28, 30);
                values.store8(out.add(16 * index), _mm256_srlv_epi32(pairs, low));
                values.store8(out.add(16 * index + 8), _mm256_srlv_epi32(pairs, high));
            }
        }
    }
}
