//! What the kernels of IQ1, IQ2 and IQ3 share.
//!
//! Numbers are not converted and multiplied one by one. In single precision, each digit of an
//! entry of eight picks one of four scaled numbers; entries of four are kept as the numbers
//! themselves, since their digits have eight values. In sixteen bits, where rounding costs most,
//! the digits of 32 elements, joined with their signs or whatever else tells them apart, are the
//! codes of a [`Table16`](crate::simd::avx2::Table16).

use std::arch::x86_64::*;

/// The number of `table` that each digit of `entry` picks; both halves of `table` are the same.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn picked(table: __m256, entry: &[u8; 8]) -> __m256 {
    // SAFETY: eight bytes are read.
    unsafe {
        let digits = _mm256_cvtepu8_epi32(_mm_loadl_epi64(entry.as_ptr().cast()));
        _mm256_permutevar_ps(table, digits)
    }
}

/// The digits of four entries, [`crossed`](crate::simd::avx2::crossed).
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn crossed_digits(entries: [&[u8; 8]; 4]) -> __m256i {
    let [a, b, c, d] = entries.map(|entry| i64::from_le_bytes(*entry));
    _mm256_setr_epi64x(a, c, b, d)
}

/// 32 bits as bytes that are [`crossed`](crate::simd::avx2::crossed): `code` where the bit is set.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn crossed_bits(bits: [u8; 4], code: i8) -> __m256i {
    let byte =
        _mm256_setr_epi64x(0, 0x0202_0202_0202_0202, 0x0101_0101_0101_0101, 0x0303_0303_0303_0303);
    let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(i32::from_le_bytes(bits)), byte);
    let set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
    _mm256_and_si256(set, _mm256_set1_epi8(code))
}

/// Eight numbers negated where their sign is set: byte `eight` of each lane of `signs`.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn signed(numbers: __m256, signs: __m256i, eight: usize) -> __m256 {
    let up = match eight {
        0 => _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24),
        1 => _mm256_setr_epi32(23, 22, 21, 20, 19, 18, 17, 16),
        2 => _mm256_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8),
        _ => _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0),
    };
    let top = _mm256_castsi256_ps(_mm256_sllv_epi32(signs, up));
    _mm256_xor_ps(numbers, _mm256_and_ps(top, _mm256_set1_ps(-0.0)))
}

/// The 32 signs of each lane, from its lowest 28 bits: see [`even`].
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn even_signs(words: __m256i) -> __m256i {
    let bits = |mask: u32| _mm256_set1_epi32(mask.cast_signed());
    // Spread the 7-bit fields to bytes: first in pairs, then one by one.
    let upper = _mm256_slli_epi32::<2>(_mm256_and_si256(words, bits(0x0fff_c000)));
    let pairs = _mm256_or_si256(upper, _mm256_and_si256(words, bits(0x3fff)));
    let upper = _mm256_slli_epi32::<1>(_mm256_and_si256(pairs, bits(0x3f80_3f80)));
    let sevens = _mm256_or_si256(upper, _mm256_and_si256(pairs, bits(0x007f_007f)));
    even(sevens)
}

/// Seven signs per byte and the eighth, which is set where an odd number of them is.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn even(sevens: __m256i) -> __m256i {
    // Folded to four bits, which look up their parity.
    let folded = _mm256_xor_si256(sevens, _mm256_srli_epi32::<4>(sevens));
    let odd = _mm256_setr_epi64x(
        0x8000_0080_0080_8000_u64.cast_signed(),
        0x0080_8000_8000_0080,
        0x8000_0080_0080_8000_u64.cast_signed(),
        0x0080_8000_8000_0080,
    );
    let nibbles = _mm256_and_si256(folded, _mm256_set1_epi8(15));
    _mm256_or_si256(sevens, _mm256_shuffle_epi8(odd, nibbles))
}

/// A shuffle that puts bytes into sixteen lanes of two: the first `each` lanes take the bytes of
/// `first`, the next `each` those `step` further on, and so on. A byte 0xff of `first` gives zero.
pub(super) const fn spread(each: usize, first: u16, step: u16) -> [u16; 16] {
    let mut lanes = [first; 16];
    let mut lane = each;
    while lane < 16 {
        lanes[lane] = lanes[lane - each] + step;
        lane += 1;
    }
    lanes
}

/// The upper bits of sixteen indices: eight bytes, spread over lanes of two, multiplied by `times`
/// in both halves; the bits of `mask` are kept.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn upper16(bytes: i64, spread: &[u16; 16], times: [u16; 8], mask: i16) -> __m256i {
    // SAFETY: both arrays are read whole.
    unsafe {
        let spread = _mm256_loadu_si256(spread.as_ptr().cast());
        let times = _mm256_broadcastsi128_si256(_mm_loadu_si128(times.as_ptr().cast()));
        let lanes = _mm256_shuffle_epi8(_mm256_set1_epi64x(bytes), spread);
        _mm256_and_si256(_mm256_mullo_epi16(lanes, times), _mm256_set1_epi16(mask))
    }
}

/// Joins the lower bytes of sixteen indices with their upper bits and writes them to `at`.
///
/// # Safety
///
/// `at` has room for sixteen. Sixteen bytes may be read from `lower`. The CPU has AVX2, F16C and
/// FMA.
#[inline(always)]
pub(super) unsafe fn join16(at: &mut [u16], lower: *const u8, upper: __m256i) {
    debug_assert!(at.len() >= 16);
    // SAFETY: sixteen are read, sixteen are written.
    unsafe {
        let lower = _mm256_cvtepu8_epi16(_mm_loadu_si128(lower.cast()));
        _mm256_storeu_si256(at.as_mut_ptr().cast(), _mm256_or_si256(lower, upper));
    }
}

/// Writes `2 s + 1` times `scale` to `at`, for eight whole numbers `s`.
///
/// # Safety
///
/// `at` has room for eight. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn odd_scales8(at: &mut [f32], s: __m256i, scale: f32) {
    debug_assert!(at.len() >= 8);
    // SAFETY: eight are written.
    unsafe {
        let odd = _mm256_or_si256(_mm256_slli_epi32::<1>(s), _mm256_set1_epi32(1));
        let scales = _mm256_mul_ps(_mm256_cvtepi32_ps(odd), _mm256_set1_ps(scale));
        _mm256_storeu_ps(at.as_mut_ptr(), scales);
    }
}
