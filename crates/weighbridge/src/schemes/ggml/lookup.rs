//! Elements that have only a few values: each value is computed once, and looked up.
//!
//! A 16-bit number is looked up as two bytes. [`Words::store32`] takes indices in an order in
//! which putting those bytes together needs no further shuffle: in eights, 0 2 1 3.
#![allow(unsafe_code, clippy::missing_safety_doc)] // AVX2 forms; reached only where the CPU has it.

use std::arch::x86_64::*;

use crate::simd::Number;

/// Sixteen finished 16-bit numbers: their lower bytes and their upper bytes, twice each.
#[derive(Clone, Copy)]
pub(super) struct Words {
    lower: __m256i,
    upper: __m256i,
}

impl Words {
    /// Rounds sixteen numbers to `T`, which has 16 bits.
    #[inline(always)]
    pub(super) unsafe fn of_sixteen<T: Number>(low: __m256, high: __m256) -> Self {
        debug_assert_eq!(size_of::<T>(), 2);
        let mut words = [T::default(); 16];
        // SAFETY: sixteen are written and read again.
        unsafe {
            T::store16(words.as_mut_ptr(), low, high);
            let apart = _mm256_setr_epi8(
                0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15, //
                0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,
            );
            let apart = _mm256_shuffle_epi8(_mm256_loadu_si256(words.as_ptr().cast()), apart);
            Self {
                lower: _mm256_permute4x64_epi64::<0b10_00_10_00>(apart),
                upper: _mm256_permute4x64_epi64::<0b11_01_11_01>(apart),
            }
        }
    }

    /// The same of four numbers, which `lanes` holds twice: each stands four times.
    #[inline(always)]
    unsafe fn of_four<T: Number>(lanes: __m256) -> Self {
        let mut words = [T::default(); 8];
        // SAFETY: eight are written; of those, two bytes each are read again.
        unsafe {
            T::store8(words.as_mut_ptr(), lanes);
            let words = _mm256_broadcastsi128_si256(_mm_loadu_si128(words.as_ptr().cast()));
            let lower = _mm256_set1_epi32(0x0604_0200);
            let upper = _mm256_set1_epi32(0x0705_0301);
            Self {
                lower: _mm256_shuffle_epi8(words, lower),
                upper: _mm256_shuffle_epi8(words, upper),
            }
        }
    }

    /// Sixteen lower bytes, then sixteen upper bytes.
    #[inline(always)]
    pub(super) unsafe fn load(bytes: &[u8; 32]) -> Self {
        // SAFETY: sixteen bytes are read twice.
        unsafe {
            let half = |at: *const u8| _mm256_broadcastsi128_si256(_mm_loadu_si128(at.cast()));
            Self { lower: half(bytes.as_ptr()), upper: half(bytes.as_ptr().add(16)) }
        }
    }

    /// The numbers of the first eight indices of each half.
    #[inline(always)]
    pub(super) unsafe fn store_first<T: Number>(self, at: *mut T, indices: __m256i) {
        // SAFETY: sixteen are written.
        unsafe {
            let (lower, upper) = self.look_up(indices);
            _mm256_storeu_si256(at.cast(), _mm256_unpacklo_epi8(lower, upper));
        }
    }

    /// The numbers of the last eight indices of each half.
    #[inline(always)]
    pub(super) unsafe fn store_last<T: Number>(self, at: *mut T, indices: __m256i) {
        // SAFETY: sixteen are written.
        unsafe {
            let (lower, upper) = self.look_up(indices);
            _mm256_storeu_si256(at.cast(), _mm256_unpackhi_epi8(lower, upper));
        }
    }

    /// The lower and the upper bytes of the numbers of 32 indices below 16.
    #[inline(always)]
    unsafe fn look_up(self, indices: __m256i) -> (__m256i, __m256i) {
        // SAFETY: registers only.
        unsafe {
            (_mm256_shuffle_epi8(self.lower, indices), _mm256_shuffle_epi8(self.upper, indices))
        }
    }

    /// The numbers of 32 indices below 16, which stand in the order described above.
    #[inline(always)]
    pub(super) unsafe fn store32<T: Number>(self, at: *mut T, indices: __m256i) {
        // SAFETY: twice sixteen are written.
        unsafe {
            self.store_first(at, indices);
            self.store_last(at.add(16), indices);
        }
    }
}

/// 32 bytes in the order that [`Words::store32`] asks for.
#[inline(always)]
pub(super) unsafe fn interleaved32(at: *const u8) -> __m256i {
    // SAFETY: 32 bytes may be read.
    unsafe { _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_loadu_si256(at.cast())) }
}

/// Sixteen bytes, each eight of them twice in a row.
#[inline(always)]
pub(super) unsafe fn doubled16(at: *const u8) -> __m256i {
    // SAFETY: sixteen bytes may be read.
    unsafe {
        let bytes = _mm256_castsi128_si256(_mm_loadu_si128(at.cast()));
        _mm256_permute4x64_epi64::<0b01_01_00_00>(bytes)
    }
}

/// The 32 nibbles of sixteen bytes, low ones first, in the order that [`Words::store32`] asks for.
#[inline(always)]
pub(super) unsafe fn nibbles32(at: *const u8) -> __m256i {
    // SAFETY: sixteen bytes may be read.
    unsafe {
        let shifted = _mm256_srlv_epi64(doubled16(at), _mm256_setr_epi64x(0, 4, 0, 4));
        _mm256_and_si256(shifted, _mm256_set1_epi8(15))
    }
}

/// Four finished numbers.
#[derive(Clone, Copy)]
pub(super) struct Four {
    /// Twice, as single precision.
    lanes: __m256,
    /// Four times, where the output has 16 bits.
    words: Words,
}

impl Four {
    #[inline(always)]
    pub(super) unsafe fn new<T: Number>([a, b, c, d]: [f32; 4]) -> Self {
        // SAFETY: registers only.
        unsafe {
            let lanes = _mm256_setr_ps(a, b, c, d, a, b, c, d);
            Self { lanes, words: Words::of_four::<T>(lanes) }
        }
    }

    /// The numbers that the lowest two bits of 32 bytes name, which stand in the order described
    /// above; their highest bits are clear.
    #[inline(always)]
    pub(super) unsafe fn store32<T: Number>(self, at: *mut T, indices: __m256i) {
        // SAFETY: 32 are written.
        unsafe {
            if size_of::<T>() == 2 {
                return self.words.store32(at, indices);
            }
            let pieces = [_mm256_castsi256_si128(indices), _mm256_extracti128_si256::<1>(indices)];
            for (at, piece) in [at, at.add(8)].into_iter().zip(pieces) {
                self.store8(at, _mm256_cvtepu8_epi32(piece));
                self.store8(at.add(16), _mm256_cvtepu8_epi32(_mm_srli_si128::<8>(piece)));
            }
        }
    }

    /// The numbers that the lowest two bits of each lane name.
    #[inline(always)]
    pub(super) unsafe fn store8<T: Number>(self, at: *mut T, indices: __m256i) {
        // SAFETY: eight are written.
        unsafe { T::store8(at, _mm256_permutevar_ps(self.lanes, indices)) }
    }
}
