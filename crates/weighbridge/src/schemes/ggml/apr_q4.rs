//! The 4-bit blocks of APR files: 32 elements behind one scale.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | APR_Q4 | f16 `d`; 16 bytes of nibbles | (q - 8) d |
//!
//! The size and the arithmetic are Q4_0's, the order is not: byte `i` holds elements `2 i` (its
//! low nibble) and `2 i + 1`.
#![allow(unsafe_code)] // The AVX2 form.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::kernel::{Blocks, Kernel, half_at, kernel};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Number, avx2};

pub(super) static KERNELS: &[Kernel] = &[kernel::<AprQ4, 18, 32>()];

struct AprQ4;

impl Blocks<18, 32> for AprQ4 {
    const NAME: &'static str = "APR_Q4";

    #[inline(always)]
    fn define(block: &[u8; 18], out: &mut [f32; 32]) {
        let d = half_at(block, 0);
        for (pair, byte) in out.as_chunks_mut::<2>().0.iter_mut().zip(&block[2..]) {
            *pair = [byte & 15, byte >> 4].map(|q| (f32::from(q) - 8.0) * d);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; 18], out: &mut [T; 32]) {
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
}
