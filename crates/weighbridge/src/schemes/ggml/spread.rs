//! 32 bytes to 32 numbers with AVX2, for blocks that keep several elements in a byte.
//!
//! Widening bytes to lanes is shuffling, and shuffles across the two halves of a register are the
//! slow ones. So the dwords of the packed bytes change places once, when they are loaded
//! ([`load32`]); whatever bits are then cut from them, four shuffles within the halves give the
//! lanes in order.
//!
//! A lane's number may be too large by a power of two: bits that were not shifted down, a byte at
//! the top of its lane so as to be signed. The group's scale, made too small by the same power,
//! makes up for it. Both are exact, so the product is the definition's to the bit.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::simd::Number;

/// One over what [`signed`]'s lanes are too large by.
pub(super) const SIGNED: f32 = 1.0 / 16_777_216.0;

/// 32 bytes, in the order that [`unsigned`] and [`signed`] take.
#[inline(always)]
pub(super) unsafe fn load32(at: *const u8) -> __m256i {
    // SAFETY: 32 bytes may be read.
    unsafe {
        let even_then_odd = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
        _mm256_permutevar8x32_epi32(_mm256_loadu_si256(at.cast()), even_then_odd)
    }
}

/// Unsigned bytes `8 EIGHT` to `8 EIGHT + 7` as numbers.
#[inline(always)]
pub(super) unsafe fn unsigned<const EIGHT: i32>(bytes: __m256i) -> __m256 {
    // SAFETY: registers only.
    unsafe {
        let byte = |index: i32| 0x8080_8000_u32.cast_signed() | (4 * EIGHT + index);
        lanes(bytes, [byte(0), byte(1), byte(2), byte(3)])
    }
}

/// Signed bytes `8 EIGHT` to `8 EIGHT + 7` as numbers, over [`SIGNED`].
#[inline(always)]
pub(super) unsafe fn signed<const EIGHT: i32>(bytes: __m256i) -> __m256 {
    // SAFETY: registers only.
    unsafe {
        let byte = |index: i32| 0x0080_8080 | (4 * EIGHT + index) << 24;
        lanes(bytes, [byte(0), byte(1), byte(2), byte(3)])
    }
}

/// The bytes that `places` names, from each half, as 32-bit integers made numbers.
#[inline(always)]
unsafe fn lanes(bytes: __m256i, [a, b, c, d]: [i32; 4]) -> __m256 {
    // SAFETY: registers only.
    unsafe {
        let places = _mm256_setr_epi32(a, b, c, d, a, b, c, d);
        _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, places))
    }
}

/// 32 signed bytes times a scale, another one for the last sixteen, to `at..at + 32`.
#[inline(always)]
pub(super) unsafe fn signed32<T: Number>(at: *mut T, bytes: __m256i, scales: [&f32; 2]) {
    // SAFETY: passed on.
    unsafe {
        let [first, last] = scales.map(|scale| _mm256_broadcast_ss(scale));
        let times = |lanes, scale| _mm256_mul_ps(lanes, scale);
        T::store16(at, times(signed::<0>(bytes), first), times(signed::<1>(bytes), first));
        T::store16(at.add(16), times(signed::<2>(bytes), last), times(signed::<3>(bytes), last));
    }
}

/// 32 unsigned bytes times a scale, less a minimum, to `at..at + 32`; another scale and minimum
/// for the last sixteen.
#[inline(always)]
pub(super) unsafe fn unsigned32<T: Number>(
    at: *mut T,
    bytes: __m256i,
    scales: [&f32; 2],
    minimums: [&f32; 2],
) {
    // SAFETY: passed on.
    unsafe {
        let value = |lanes, scale, minimum| {
            let [scale, minimum] = [scale, minimum].map(|one| _mm256_broadcast_ss(one));
            _mm256_sub_ps(_mm256_mul_ps(lanes, scale), minimum)
        };
        let first = |lanes| value(lanes, scales[0], minimums[0]);
        let last = |lanes| value(lanes, scales[1], minimums[1]);
        T::store16(at, first(unsigned::<0>(bytes)), first(unsigned::<1>(bytes)));
        T::store16(at.add(16), last(unsigned::<2>(bytes)), last(unsigned::<3>(bytes)));
    }
}
