//! The sums of a comparison, one register for each.

use std::arch::x86_64::*;

use crate::simd::accumulate::{Eight, LANES, OneSide, TwoSides};

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn load(eight: &Eight, half: usize) -> __m256d {
    // SAFETY: each half has four numbers.
    _mm256_cvtps_pd(unsafe { _mm_loadu_ps(eight[half * LANES..][..LANES].as_ptr()) })
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn stored(register: __m256d) -> [f64; LANES] {
    let mut lanes = [0.0; LANES];
    // SAFETY: there is room for four numbers.
    unsafe { _mm256_storeu_pd(lanes.as_mut_ptr(), register) };
    lanes
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn counted(register: __m256i) -> [u32; 2 * LANES] {
    let mut lanes = [0; 2 * LANES];
    // SAFETY: there is room for eight numbers of 32 bits.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), register) };
    lanes
}

/// The bits, and the rank of each number among all f32 numbers.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn places(eight: &Eight) -> (__m256i, __m256i) {
    // SAFETY: `eight` has eight numbers of 32 bits.
    let bits = unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) };
    let magnitude = _mm256_srli_epi32::<1>(_mm256_srai_epi32::<31>(bits));
    (bits, _mm256_xor_si256(bits, magnitude))
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn one_side(eights: &[Eight]) -> OneSide {
    let [mut sum, mut squares] = [_mm256_setzero_pd(); 2];
    for eight in eights {
        for half in 0..2 {
            let x = load(eight, half);
            sum = _mm256_add_pd(sum, x);
            squares = _mm256_fmadd_pd(x, x, squares);
        }
    }
    OneSide { sum: stored(sum), squares: stored(squares) }
}

#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub fn two_sides(a: &[Eight], b: &[Eight]) -> TwoSides {
    let [mut sum_a, mut squares_a, mut sum_b, mut squares_b] = [_mm256_setzero_pd(); 4];
    let [mut products, mut squares, mut absolute, mut largest] = [_mm256_setzero_pd(); 4];
    let [mut identical, mut most] = [_mm256_setzero_si256(); 2];
    let sign = _mm256_set1_pd(-0.0);
    for (eight_a, eight_b) in a.iter().zip(b) {
        let ((bits_a, a), (bits_b, b)) = (places(eight_a), places(eight_b));
        identical = _mm256_sub_epi32(identical, _mm256_cmpeq_epi32(bits_a, bits_b));
        let apart = _mm256_sub_epi32(_mm256_max_epi32(a, b), _mm256_min_epi32(a, b));
        most = _mm256_max_epu32(most, apart);
        for half in 0..2 {
            let (a, b) = (load(eight_a, half), load(eight_b, half));
            let apart = _mm256_sub_pd(a, b);
            let size = _mm256_andnot_pd(sign, apart);
            sum_a = _mm256_add_pd(sum_a, a);
            sum_b = _mm256_add_pd(sum_b, b);
            squares_a = _mm256_fmadd_pd(a, a, squares_a);
            squares_b = _mm256_fmadd_pd(b, b, squares_b);
            products = _mm256_fmadd_pd(a, b, products);
            // Not fused: the square of a difference is not exact.
            squares = _mm256_add_pd(squares, _mm256_mul_pd(apart, apart));
            absolute = _mm256_add_pd(absolute, size);
            // If either is NaN, the result is the second operand: `largest` keeps its value.
            largest = _mm256_max_pd(size, largest);
        }
    }
    TwoSides {
        a: OneSide { sum: stored(sum_a), squares: stored(squares_a) },
        b: OneSide { sum: stored(sum_b), squares: stored(squares_b) },
        products: stored(products),
        squares: stored(squares),
        absolute: stored(absolute),
        largest: stored(largest),
        identical: counted(identical).iter().sum(),
        apart: counted(most).into_iter().max().unwrap_or(0),
    }
}
