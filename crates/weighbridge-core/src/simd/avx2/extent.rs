//! The sums of some numbers and their extremes: eight registers of sums, three of the rest.

use std::arch::x86_64::*;

use crate::simd::extent::{BLOCK, Ends, Extent, HALF, LANES, Sixteen};

/// Registers of four doubles that sixteen sums take.
const QUARTERS: usize = LANES / 4;

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn stored(quarters: [__m256d; QUARTERS]) -> [f64; LANES] {
    let mut lanes = [0.0; LANES];
    for (four, register) in lanes.as_chunks_mut::<4>().0.iter_mut().zip(quarters) {
        // SAFETY: there is room for four numbers.
        unsafe { _mm256_storeu_pd(four.as_mut_ptr(), register) };
    }
    lanes
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn extent(numbers: &[Sixteen], ends: &mut [Ends]) -> Extent {
    let [mut sums, mut squares] = [[_mm256_setzero_pd(); QUARTERS]; 2];
    let mut zeros = _mm256_setzero_si256();
    let zero = _mm256_setzero_ps();
    for (block, ends) in numbers.chunks(BLOCK).zip(ends) {
        let mut min = _mm256_set1_ps(f32::INFINITY);
        let mut max = _mm256_set1_ps(f32::NEG_INFINITY);
        for sixteen in block {
            for half in sixteen.as_chunks::<HALF>().0 {
                // SAFETY: a half has eight numbers.
                let x = unsafe { _mm256_loadu_ps(half.as_ptr()) };
                // If either is NaN, the result is the second operand: the extremes stay.
                min = _mm256_min_ps(x, min);
                max = _mm256_max_ps(x, max);
                let is_zero = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_EQ_OQ>(x, zero));
                zeros = _mm256_sub_epi32(zeros, is_zero);
            }
            for (quarter, four) in sixteen.as_chunks::<4>().0.iter().enumerate() {
                // SAFETY: a quarter has four numbers.
                let x = _mm256_cvtps_pd(unsafe { _mm_loadu_ps(four.as_ptr()) });
                sums[quarter] = _mm256_add_pd(sums[quarter], x);
                squares[quarter] = _mm256_fmadd_pd(x, x, squares[quarter]);
            }
        }
        // SAFETY: there is room for eight numbers in each.
        unsafe {
            _mm256_storeu_ps(ends.min.as_mut_ptr(), min);
            _mm256_storeu_ps(ends.max.as_mut_ptr(), max);
        }
    }
    let mut counted = [0u32; HALF];
    // SAFETY: there is room for eight numbers of 32 bits.
    unsafe { _mm256_storeu_si256(counted.as_mut_ptr().cast(), zeros) };
    Extent { sum: stored(sums), squares: stored(squares), zeros: counted.iter().sum() }
}
