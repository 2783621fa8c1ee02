//! Lookups of 16-bit numbers by codes of four bits.

use std::arch::x86_64::*;

use crate::simd::Number;
use crate::simd::avx2::lanes::round16;

/// Sixteen numbers of sixteen bits, to be looked up by codes of four bits.
///
/// Rounding an element costs more than everything else in a 4-bit block. But such a block has only
/// sixteen different numbers: they are rounded once, and two byte shuffles look up each element.
#[derive(Clone, Copy)]
pub(super) struct Table16 {
    low_bytes: __m256i,
    high_bytes: __m256i,
}

impl Table16 {
    /// The table of sixteen numbers, rounded to `T`, a type of sixteen bits.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(super) fn new<T: Number>(low: __m256, high: __m256) -> Self {
        // Within each half: the low bytes of eight words, then their high bytes.
        let apart = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,
        ));
        let words = _mm256_shuffle_epi8(round16::<T>(low, high), apart);
        Self {
            low_bytes: _mm256_permute4x64_epi64::<0b10_00_10_00>(words),
            high_bytes: _mm256_permute4x64_epi64::<0b11_01_11_01>(words),
        }
    }

    /// What `value` gives for 0 to 15.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(super) fn counted<T: Number>(value: impl Fn(__m256) -> __m256) -> Self {
        let low = value(_mm256_setr_ps(0., 1., 2., 3., 4., 5., 6., 7.));
        Self::new::<T>(low, value(_mm256_setr_ps(8., 9., 10., 11., 12., 13., 14., 15.)))
    }

    /// A table that was made before: sixteen low bytes, then sixteen high bytes.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(super) fn load(bytes: &[u8; 32]) -> Self {
        // SAFETY: sixteen bytes are read, twice.
        unsafe {
            let twice = |at: *const u8| _mm256_broadcastsi128_si256(_mm_loadu_si128(at.cast()));
            Self { low_bytes: twice(bytes.as_ptr()), high_bytes: twice(bytes.as_ptr().add(16)) }
        }
    }

    /// The table of eight numbers and their negatives, rounded to `T`, a type of sixteen bits.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(super) fn signed<T: Number>(numbers: __m256) -> Self {
        let twice = Self::new::<T>(numbers, numbers);
        let sign =
            _mm256_broadcastsi128_si256(_mm_set_epi64x(0x8080_8080_8080_8080_u64.cast_signed(), 0));
        Self { high_bytes: _mm256_xor_si256(twice.high_bytes, sign), ..twice }
    }

    /// Two tables, one for each 128-bit half: eight numbers, rounded to `T`, a type of sixteen
    /// bits, then the same eight with their signs flipped by the last eight of `signs`.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(super) fn mirrored<T: Number>(first: __m256, second: __m256, signs: [u8; 16]) -> Self {
        let words = round16::<T>(first, second);
        let twice = |pattern| _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(pattern));
        let low = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
        let high = _mm_add_epi8(low, _mm_set1_epi8(1));
        // SAFETY: there are sixteen.
        let signs = unsafe { _mm_loadu_si128(signs.as_ptr().cast()) };
        let signs = _mm256_broadcastsi128_si256(signs);
        Self { low_bytes: twice(low), high_bytes: _mm256_xor_si256(twice(high), signs) }
    }

    /// The sixteen numbers of the lower eight codes of each 128-bit half, and the sixteen of the
    /// upper eight. Codes are bytes below 16.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(super) fn look_up(self, codes: __m256i) -> [__m256i; 2] {
        let low = _mm256_shuffle_epi8(self.low_bytes, codes);
        let high = _mm256_shuffle_epi8(self.high_bytes, codes);
        [_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)]
    }

    /// Writes the numbers of 32 codes, bytes below 16 and [`crossed`], to `at..at + 32`.
    ///
    /// # Safety
    ///
    /// 32 numbers of sixteen bits may be written to `at`. The CPU has AVX2, F16C and FMA.
    #[inline(always)]
    pub(super) unsafe fn store_crossed32<T: Number>(self, at: *mut T, codes: __m256i) {
        // SAFETY: 32 may be written.
        unsafe {
            let [first, second] = self.look_up(codes);
            _mm256_storeu_si256(at.cast(), first);
            _mm256_storeu_si256(at.cast::<__m256i>().add(1), second);
        }
    }
}

/// Puts the four quarters of 32 bytes into the order 0, 2, 1, 3, so that unpacking, which works
/// within 128-bit halves, gives the elements in order.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn crossed(bytes: __m256i) -> __m256i {
    _mm256_permute4x64_epi64::<0b11_01_10_00>(bytes)
}

/// The nibbles of sixteen bytes, low ones first, as 32 bytes that are [`crossed`].
///
/// # Safety
///
/// Sixteen bytes may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn crossed_nibbles32(at: *const u8) -> __m256i {
    // SAFETY: sixteen bytes may be read.
    unsafe {
        let bytes = _mm256_castsi128_si256(_mm_loadu_si128(at.cast()));
        let twice = _mm256_permute4x64_epi64::<0b01_01_00_00>(bytes);
        let both = _mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 4, 0, 4));
        _mm256_and_si256(both, _mm256_set1_epi8(15))
    }
}
