//! Sums in four lanes, over eights of numbers: one addition after the other in each lane.
//!
//! Compilers pack sums of different kinds into one register and lose more by shuffling them than
//! they win, so that what each register holds is written out for AVX2. Counting steps between bits
//! takes other units of the CPU than adding does, and is done in the same loop. Products of two
//! f32 are exact in f64, so that a fused addition of them rounds as the definition does.
#![allow(unsafe_code)] // Intrinsics.

use crate::simd::{Level, Set};

pub(crate) const LANES: usize = 4;

pub(crate) type Eight = [f32; 2 * LANES];

/// What is summed of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct One {
    pub(crate) sum: [f64; LANES],
    pub(crate) squares: [f64; LANES],
}

impl One {
    #[inline(always)]
    pub(crate) fn add(&mut self, lane: usize, x: f64) {
        self.sum[lane] += x;
        self.squares[lane] += x * x;
    }
}

/// What is summed of two sides.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Two {
    pub(crate) a: One,
    pub(crate) b: One,
    pub(crate) products: [f64; LANES],
    /// Of differences.
    pub(crate) squares: [f64; LANES],
    /// Of differences.
    pub(crate) absolute: [f64; LANES],
    pub(crate) largest: [f64; LANES],
    /// How many are the same to the bit.
    pub(crate) identical: u32,
    /// How many steps are between two at most: one too many where their signs are unlike.
    pub(crate) apart: u32,
}

impl Two {
    #[inline(always)]
    pub(crate) fn add(&mut self, lane: usize, single_a: f32, single_b: f32) {
        let (a, b) = (f64::from(single_a), f64::from(single_b));
        let apart = a - b;
        let size = apart.abs();
        self.a.add(lane, a);
        self.b.add(lane, b);
        self.products[lane] += a * b;
        self.squares[lane] += apart * apart;
        self.absolute[lane] += size;
        self.largest[lane] = if size > self.largest[lane] { size } else { self.largest[lane] };
        let bits = [single_a, single_b].map(|x| x.to_bits().cast_signed());
        self.identical += u32::from(bits[0] == bits[1]);
        let [a, b] = bits.map(|x| x ^ ((x >> 31).cast_unsigned() >> 1).cast_signed());
        self.apart = self.apart.max(a.abs_diff(b));
    }
}

/// Over one side.
#[inline(always)]
pub(crate) fn one(level: Level, eights: &[Eight]) -> One {
    match level.set() {
        // SAFETY: a level is only ever one that the CPU has.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { avx2::one(eights) },
        _ => one_by_lane(eights),
    }
}

/// Over two sides.
#[inline(always)]
pub(crate) fn two(level: Level, a: &[Eight], b: &[Eight]) -> Two {
    match level.set() {
        // SAFETY: a level is only ever one that the CPU has.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { avx2::two(a, b) },
        _ => two_by_lane(a, b),
    }
}

fn one_by_lane(eights: &[Eight]) -> One {
    let mut all = One::default();
    for (index, &x) in eights.as_flattened().iter().enumerate() {
        all.add(index % LANES, x.into());
    }
    all
}

fn two_by_lane(a: &[Eight], b: &[Eight]) -> Two {
    let mut all = Two::default();
    let pairs = a.as_flattened().iter().zip(b.as_flattened());
    for (index, (&a, &b)) in pairs.enumerate() {
        all.add(index % LANES, a, b);
    }
    all
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256d, __m256i, _mm_loadu_ps, _mm256_add_pd, _mm256_andnot_pd, _mm256_cmpeq_epi32,
        _mm256_cvtps_pd, _mm256_fmadd_pd, _mm256_loadu_si256, _mm256_max_epi32, _mm256_max_epu32,
        _mm256_max_pd, _mm256_min_epi32, _mm256_mul_pd, _mm256_set1_pd, _mm256_setzero_pd,
        _mm256_setzero_si256, _mm256_srai_epi32, _mm256_srli_epi32, _mm256_storeu_pd,
        _mm256_storeu_si256, _mm256_sub_epi32, _mm256_sub_pd, _mm256_xor_si256,
    };

    use super::{Eight, LANES, One, Two};

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

    /// Bits as they are, and where they stand among all numbers.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    fn places(eight: &Eight) -> (__m256i, __m256i) {
        // SAFETY: it has eight numbers of 32 bits.
        let bits = unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) };
        let magnitude = _mm256_srli_epi32::<1>(_mm256_srai_epi32::<31>(bits));
        (bits, _mm256_xor_si256(bits, magnitude))
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(crate) fn one(eights: &[Eight]) -> One {
        let [mut sum, mut squares] = [_mm256_setzero_pd(); 2];
        for eight in eights {
            for half in 0..2 {
                let x = load(eight, half);
                sum = _mm256_add_pd(sum, x);
                squares = _mm256_fmadd_pd(x, x, squares);
            }
        }
        One { sum: stored(sum), squares: stored(squares) }
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(crate) fn two(a: &[Eight], b: &[Eight]) -> Two {
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
                // The square of a difference is not exact.
                squares = _mm256_add_pd(squares, _mm256_mul_pd(apart, apart));
                absolute = _mm256_add_pd(absolute, size);
                // The second operand is what is left if either is no number.
                largest = _mm256_max_pd(size, largest);
            }
        }
        Two {
            a: One { sum: stored(sum_a), squares: stored(squares_a) },
            b: One { sum: stored(sum_b), squares: stored(squares_b) },
            products: stored(products),
            squares: stored(squares),
            absolute: stored(absolute),
            largest: stored(largest),
            identical: counted(identical).iter().sum(),
            apart: counted(most).into_iter().max().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_gives_the_same_sums() {
        let numbers = |seed: u32| -> Vec<Eight> {
            let number = |i: u32| {
                f32::from_bits(i.wrapping_mul(2_654_435).wrapping_add(seed) % 0x7f00_0000) - 1.0
            };
            (0..300).map(|i| [0, 1, 2, 3, 4, 5, 6, 7].map(|lane| number(i * 8 + lane))).collect()
        };
        let (a, b) = (numbers(1), numbers(77));
        for len in [0, 1, 2, 299, 300] {
            for &level in Level::available() {
                assert_eq!(one(level, &a[..len]), one_by_lane(&a[..len]));
                assert_eq!(two(level, &a[..len], &b[..len]), two_by_lane(&a[..len], &b[..len]));
            }
        }
    }
}
