//! 32 bytes to 32 numbers with AVX2, for blocks that keep several elements in a byte.
//!
//! Widening bytes to lanes takes shuffles, and those across the two halves of a register are
//! slow. So the packed bytes change places once, when they are loaded ([`load32`]). Whichever
//! bits are then cut from them, four shuffles within the halves give the lanes, in the order that
//! is cheapest to write as the output type.
//!
//! A lane's number may be too large by a power of two: its bits were not shifted down, or its byte
//! is at the top of the lane so that its sign counts. The group's scale, too small by the same
//! power, makes up for it. Both are exact, so the product is the definition's to the bit.

use std::arch::x86_64::*;

use crate::simd::Number;
use crate::simd::avx2::lanes::{store_woven16, store16, weaves};

/// The caller multiplies [`signed32`]'s scales by this: the lanes are too large by its inverse.
pub(super) const SIGNED: f32 = 1.0 / 16_777_216.0;

/// 32 bytes, in the order that [`unsigned32`] and [`signed32`] expect for the same output type.
///
/// # Safety
///
/// 32 bytes may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn load32<T: Number>(at: *const u8) -> __m256i {
    // SAFETY: 32 bytes may be read.
    unsafe {
        let bytes = _mm256_loadu_si256(at.cast());
        if weaves::<T>() {
            // Eights: first, third, then second, fourth.
            _mm256_permute4x64_epi64::<0b11_01_10_00>(bytes)
        } else {
            // Fours: first, third, .. then second, fourth, ..
            _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7))
        }
    }
}

/// Where vector `index` of four finds its bytes within each half of what [`load32`] returns.
const fn places<T: Number>(index: i32) -> [i32; 4] {
    if weaves::<T>() {
        let first = index / 2 * 8 + index % 2;
        [first, first + 2, first + 4, first + 6]
    } else {
        let first = index * 4;
        [first, first + 1, first + 2, first + 3]
    }
}

/// Vector `INDEX` of four: each byte at the bottom of its lane or, if signed, at the top.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn lanes<T: Number, const INDEX: i32, const SIGN: bool>(bytes: __m256i) -> __m256 {
    let [a, b, c, d] = const { places::<T>(INDEX) }.map(|place| {
        if SIGN { 0x0080_8080 | place << 24 } else { 0x8080_8000_u32.cast_signed() | place }
    });
    let places = _mm256_setr_epi32(a, b, c, d, a, b, c, d);
    _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, places))
}

/// Writes two vectors in the order of [`places`].
///
/// # Safety
///
/// Sixteen numbers may be written to `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn store<T: Number>(at: *mut T, one: __m256, two: __m256) {
    // SAFETY: the caller's promise is passed on.
    unsafe { if weaves::<T>() { store_woven16(at, one, two) } else { store16(at, one, two) } }
}

/// Writes 32 signed bytes times a scale, one for each sixteen, to `at..at + 32`.
///
/// # Safety
///
/// 32 numbers may be written to `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn signed32<T: Number>(at: *mut T, bytes: __m256i, scales: [&f32; 2]) {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let [first, last] = scales.map(|scale| _mm256_broadcast_ss(scale));
        let first = |lanes| _mm256_mul_ps(lanes, first);
        let last = |lanes| _mm256_mul_ps(lanes, last);
        store(at, first(lanes::<T, 0, true>(bytes)), first(lanes::<T, 1, true>(bytes)));
        store(at.add(16), last(lanes::<T, 2, true>(bytes)), last(lanes::<T, 3, true>(bytes)));
    }
}

/// Writes 32 unsigned bytes times a scale, less a minimum, to `at..at + 32`: a scale and a minimum
/// for each sixteen.
///
/// # Safety
///
/// 32 numbers may be written to `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn unsigned32<T: Number>(
    at: *mut T,
    bytes: __m256i,
    scales: [&f32; 2],
    minimums: [&f32; 2],
) {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let value = |lanes, scale, minimum| {
            let [scale, minimum] = [scale, minimum].map(|one| _mm256_broadcast_ss(one));
            _mm256_sub_ps(_mm256_mul_ps(lanes, scale), minimum)
        };
        let first = |lanes| value(lanes, scales[0], minimums[0]);
        let last = |lanes| value(lanes, scales[1], minimums[1]);
        store(at, first(lanes::<T, 0, false>(bytes)), first(lanes::<T, 1, false>(bytes)));
        store(at.add(16), last(lanes::<T, 2, false>(bytes)), last(lanes::<T, 3, false>(bytes)));
    }
}
