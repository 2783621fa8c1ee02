//! Primitives of the AVX2 level: eight single-precision lanes at a time.
//!
//! They are `#[inline(always)]` without `#[target_feature]`, so that they become part of whatever
//! kernel calls them and are compiled with that kernel's features. Calling one where the CPU does
//! not have AVX2 and F16C is undefined behaviour: that is what `unsafe` means on all of them.
#![allow(unsafe_code, clippy::missing_safety_doc)]

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::number::Number;

/// A number that eight lanes can be narrowed to.
///
/// A NaN in the lanes must have a fraction of which only the highest bit is set, as arithmetic
/// on [`super::half_to_f32`]'s and [`half`]'s results gives: then rounding cannot turn it into
/// something else, and needs no look at it. Lanes of any origin go through
/// [`any_nan`](Lanes::any_nan) first.
pub(crate) trait Lanes: Sized {
    /// Whether a number has sixteen bits, so that a [`Table16`] of them pays.
    const IS_16_BIT: bool;

    /// Rounds sixteen numbers to nearest even, as sixteen-bit words in order. Only for types of
    /// sixteen bits.
    unsafe fn round16(low: __m256, high: __m256) -> __m256i;

    /// The same numbers, with NaNs in a form that can be rounded.
    #[inline(always)]
    unsafe fn any_nan(lanes: __m256) -> __m256 {
        lanes
    }

    /// Rounds eight numbers to this type, and back.
    #[inline(always)]
    unsafe fn step8(lanes: __m256) -> __m256 {
        lanes
    }

    /// Rounds eight numbers to nearest even and writes them to `at..at + 8`.
    unsafe fn store8(at: *mut Self, lanes: __m256);

    /// Rounds sixteen numbers to nearest even and writes them to `at..at + 16`.
    unsafe fn store16(at: *mut Self, low: __m256, high: __m256);

    /// Whether [`store_woven16`](Self::store_woven16) is the cheaper way to write sixteen numbers,
    /// for a kernel that can have its lanes in either order.
    const WEAVES: bool;

    /// Rounds sixteen numbers, of which `even` are the first, third, .., and writes them to
    /// `at..at + 16`.
    unsafe fn store_woven16(at: *mut Self, even: __m256, odd: __m256);

    /// Fills an output by way of single precision, in place where it is that. `N` is a multiple
    /// of sixteen.
    unsafe fn through_lanes<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N]));
}

impl Lanes for f32 {
    const IS_16_BIT: bool = false;
    const WEAVES: bool = false;

    #[inline(always)]
    unsafe fn round16(_: __m256, _: __m256) -> __m256i {
        unreachable!("single precision has no sixteen bits")
    }

    #[inline(always)]
    unsafe fn store8(at: *mut Self, lanes: __m256) {
        // SAFETY: eight may be written.
        unsafe { _mm256_storeu_ps(at, lanes) }
    }

    #[inline(always)]
    unsafe fn store16(at: *mut Self, low: __m256, high: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            Self::store8(at, low);
            Self::store8(at.add(8), high);
        }
    }

    #[inline(always)]
    unsafe fn store_woven16(at: *mut Self, even: __m256, odd: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            let (first, second) = (_mm256_unpacklo_ps(even, odd), _mm256_unpackhi_ps(even, odd));
            Self::store8(at, _mm256_permute2f128_ps::<0x20>(first, second));
            Self::store8(at.add(8), _mm256_permute2f128_ps::<0x31>(first, second));
        }
    }

    #[inline(always)]
    unsafe fn through_lanes<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N])) {
        fill(out);
    }
}

impl Lanes for bf16 {
    const IS_16_BIT: bool = true;
    const WEAVES: bool = true;

    #[inline(always)]
    unsafe fn round16(low: __m256, high: __m256) -> __m256i {
        // SAFETY: registers only.
        unsafe {
            // Packing works within 128-bit halves, the permutation puts them in order.
            let words = _mm256_packus_epi32(bf16_words(low), bf16_words(high));
            _mm256_permute4x64_epi64::<0b11_01_10_00>(words)
        }
    }

    #[inline(always)]
    unsafe fn step8(lanes: __m256) -> __m256 {
        // SAFETY: registers only.
        unsafe {
            let upper = _mm256_set1_epi32(0xffff_0000_u32.cast_signed());
            _mm256_castsi256_ps(_mm256_and_si256(rounded_to_bf16(lanes), upper))
        }
    }

    #[inline(always)]
    unsafe fn any_nan(lanes: __m256) -> __m256 {
        // SAFETY: registers only.
        unsafe {
            let mask = |bits: u32| _mm256_castsi256_ps(_mm256_set1_epi32(bits.cast_signed()));
            // Quiet, and nothing in the half that is rounded away.
            let upper = _mm256_and_ps(lanes, mask(0xffff_0000));
            let quiet = _mm256_or_ps(upper, mask(0x0040_0000));
            _mm256_blendv_ps(lanes, quiet, _mm256_cmp_ps::<_CMP_UNORD_Q>(lanes, lanes))
        }
    }

    #[inline(always)]
    unsafe fn store8(at: *mut Self, lanes: __m256) {
        // SAFETY: eight may be written.
        unsafe {
            let rounded = bf16_words(lanes);
            let words = _mm_packus_epi32(
                _mm256_castsi256_si128(rounded),
                _mm256_extracti128_si256::<1>(rounded),
            );
            _mm_storeu_si128(at.cast(), words);
        }
    }

    #[inline(always)]
    unsafe fn store16(at: *mut Self, low: __m256, high: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            _mm256_storeu_si256(at.cast(), Self::round16(low, high));
        }
    }

    #[inline(always)]
    unsafe fn store_woven16(at: *mut Self, even: __m256, odd: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            let even = _mm256_srli_epi32::<16>(rounded_to_bf16(even));
            let woven = _mm256_blend_epi16::<0b1010_1010>(even, rounded_to_bf16(odd));
            _mm256_storeu_si256(at.cast(), woven);
        }
    }

    #[inline(always)]
    unsafe fn through_lanes<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N])) {
        // SAFETY: passed on.
        unsafe { through_stack(out, fill) }
    }
}

/// Eight bfloat16 in the lower halves of 32-bit words.
#[inline(always)]
unsafe fn bf16_words(lanes: __m256) -> __m256i {
    // SAFETY: registers only.
    unsafe { _mm256_srli_epi32::<16>(rounded_to_bf16(lanes)) }
}

/// Eight bfloat16 in the upper halves of 32-bit words; the lower halves are what is left over.
#[inline(always)]
unsafe fn rounded_to_bf16(lanes: __m256) -> __m256i {
    // SAFETY: registers only.
    unsafe {
        let bits = _mm256_castps_si256(lanes);
        // Half of the last place, less one where the last place is even. (A comparison, for
        // shifts share their unit with all the shuffles around this.)
        let last = _mm256_and_si256(bits, _mm256_set1_epi32(0x1_0000));
        let even = _mm256_cmpeq_epi32(last, _mm256_setzero_si256());
        let bias = _mm256_add_epi32(even, _mm256_set1_epi32(0x8000));
        _mm256_add_epi32(bits, bias)
    }
}

impl Lanes for f16 {
    const IS_16_BIT: bool = true;
    const WEAVES: bool = false;

    #[inline(always)]
    unsafe fn round16(low: __m256, high: __m256) -> __m256i {
        // SAFETY: registers only.
        unsafe {
            _mm256_set_m128i(
                _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(high),
                _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(low),
            )
        }
    }

    #[inline(always)]
    unsafe fn step8(lanes: __m256) -> __m256 {
        // SAFETY: registers only.
        unsafe { _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(lanes)) }
    }

    #[inline(always)]
    unsafe fn store8(at: *mut Self, lanes: __m256) {
        // SAFETY: eight may be written.
        unsafe {
            let words = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(lanes);
            _mm_storeu_si128(at.cast(), words);
        }
    }

    #[inline(always)]
    unsafe fn store16(at: *mut Self, low: __m256, high: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            Self::store8(at, low);
            Self::store8(at.add(8), high);
        }
    }

    #[inline(always)]
    unsafe fn store_woven16(at: *mut Self, even: __m256, odd: __m256) {
        // SAFETY: sixteen may be written.
        unsafe {
            let even = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(even);
            let odd = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(odd);
            _mm_storeu_si128(at.cast(), _mm_unpacklo_epi16(even, odd));
            _mm_storeu_si128(at.add(8).cast(), _mm_unpackhi_epi16(even, odd));
        }
    }

    #[inline(always)]
    unsafe fn through_lanes<const N: usize>(out: &mut [Self; N], fill: impl FnOnce(&mut [f32; N])) {
        // SAFETY: passed on.
        unsafe { through_stack(out, fill) }
    }
}

#[inline(always)]
unsafe fn through_stack<T: Lanes, const N: usize>(
    out: &mut [T; N],
    fill: impl FnOnce(&mut [f32; N]),
) {
    const { assert!(N.is_multiple_of(16)) };
    let mut values = [0.0; N];
    fill(&mut values);
    for (out, values) in out.as_chunks_mut::<16>().0.iter_mut().zip(values.as_chunks::<16>().0) {
        // SAFETY: sixteen are read, sixteen are written.
        unsafe {
            let (low, high) = (values.as_ptr(), values.as_ptr().add(8));
            T::store16(out.as_mut_ptr(), _mm256_loadu_ps(low), _mm256_loadu_ps(high));
        }
    }
}

/// The half-precision number in the first two bytes at `at`, widened; every NaN becomes the
/// plain quiet one.
#[inline(always)]
pub(crate) unsafe fn half(at: *const u8) -> f32 {
    // SAFETY: two bytes may be read.
    unsafe {
        let bits = u16::from_le_bytes(at.cast::<[u8; 2]>().read());
        let quiet = if bits & 0x7fff > 0x7c00 { bits & 0x8000 | 0x7e00 } else { bits };
        _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(quiet))))
    }
}

/// Eight unsigned bytes, the lowest of `bytes`, as numbers.
#[inline(always)]
pub(crate) unsafe fn unsigned8(bytes: __m128i) -> __m256 {
    // SAFETY: registers only.
    unsafe { _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)) }
}

/// Eight signed bytes, the lowest of `bytes`, as numbers.
#[inline(always)]
pub(crate) unsafe fn signed8(bytes: __m128i) -> __m256 {
    // SAFETY: registers only.
    unsafe { _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)) }
}

/// The first, third, .. of sixteen signed words as numbers.
///
/// The multiplication by one and zero extends the sign on a unit that shifts and shuffles leave
/// free.
#[inline(always)]
pub(crate) unsafe fn even(words: __m256i) -> __m256 {
    // SAFETY: registers only.
    unsafe { _mm256_cvtepi32_ps(_mm256_madd_epi16(words, _mm256_set1_epi32(1))) }
}

/// The second, fourth, .. of sixteen signed words as numbers.
#[inline(always)]
pub(crate) unsafe fn odd(words: __m256i) -> __m256 {
    // SAFETY: registers only.
    unsafe { _mm256_cvtepi32_ps(_mm256_srai_epi32::<16>(words)) }
}

/// Sixteen signed words times `scale`, to `at..at + 16`.
#[inline(always)]
pub(crate) unsafe fn scaled_words16<T: Number>(at: *mut T, words: __m256i, scale: __m256) {
    // SAFETY: passed on.
    unsafe {
        let (even, odd) = (even(words), odd(words));
        T::store_woven16(at, _mm256_mul_ps(even, scale), _mm256_mul_ps(odd, scale));
    }
}

/// Sixteen signed words times `scale` plus `minimum`, rounded after each step, to `at..at + 16`.
#[inline(always)]
pub(crate) unsafe fn scaled_words16_from<T: Number>(
    at: *mut T,
    words: __m256i,
    scale: __m256,
    minimum: __m256,
) {
    // SAFETY: passed on.
    unsafe {
        let value = |lanes| _mm256_add_ps(_mm256_mul_ps(lanes, scale), minimum);
        T::store_woven16(at, value(even(words)), value(odd(words)));
    }
}

/// Sixteen signed bytes, times `scale`, to `at..at + 16`.
#[inline(always)]
pub(crate) unsafe fn scaled16<T: Number>(at: *mut T, bytes: __m128i, scale: __m256) {
    // SAFETY: passed on.
    unsafe {
        let low = _mm256_mul_ps(signed8(bytes), scale);
        let high = _mm256_mul_ps(signed8(_mm_srli_si128::<8>(bytes)), scale);
        T::store16(at, low, high);
    }
}

/// Sixteen numbers of sixteen bits, to be looked up by codes of four bits.
///
/// Rounding an element costs more than all else in a 4-bit block. But such a block has only
/// sixteen different numbers: they are rounded once, and each element is two byte shuffles away.
#[derive(Clone, Copy)]
pub(crate) struct Table16 {
    low_bytes: __m256i,
    high_bytes: __m256i,
}

impl Table16 {
    /// The table of sixteen numbers, rounded to `T`, which has sixteen bits.
    #[inline(always)]
    pub(crate) unsafe fn new<T: Lanes>(low: __m256, high: __m256) -> Self {
        // SAFETY: registers only.
        unsafe {
            // Within each half: the low bytes of eight words, then their high bytes.
            let apart = _mm256_broadcastsi128_si256(_mm_setr_epi8(
                0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,
            ));
            let words = _mm256_shuffle_epi8(T::round16(low, high), apart);
            Self {
                low_bytes: _mm256_permute4x64_epi64::<0b10_00_10_00>(words),
                high_bytes: _mm256_permute4x64_epi64::<0b11_01_11_01>(words),
            }
        }
    }

    /// A table that was made before: sixteen low bytes, then sixteen high bytes.
    #[inline(always)]
    pub(crate) unsafe fn load(bytes: &[u8; 32]) -> Self {
        // SAFETY: sixteen bytes are read, twice.
        unsafe {
            let twice = |at: *const u8| _mm256_broadcastsi128_si256(_mm_loadu_si128(at.cast()));
            Self { low_bytes: twice(bytes.as_ptr()), high_bytes: twice(bytes.as_ptr().add(16)) }
        }
    }

    /// The table of eight numbers, rounded to `T`, which has sixteen bits, and the same negated.
    #[inline(always)]
    pub(crate) unsafe fn signed<T: Lanes>(numbers: __m256) -> Self {
        // SAFETY: registers only.
        unsafe {
            let twice = Self::new::<T>(numbers, numbers);
            let sign = _mm256_broadcastsi128_si256(_mm_set_epi64x(
                0x8080_8080_8080_8080_u64.cast_signed(),
                0,
            ));
            Self { high_bytes: _mm256_xor_si256(twice.high_bytes, sign), ..twice }
        }
    }

    /// Two tables, one for each 128-bit half: eight numbers, rounded to `T`, which has sixteen
    /// bits, and the same eight with `signs`, of which the last eight count, changed.
    #[inline(always)]
    pub(crate) unsafe fn mirrored<T: Lanes>(
        first: __m256,
        second: __m256,
        signs: [u8; 16],
    ) -> Self {
        // SAFETY: registers only.
        unsafe {
            let words = T::round16(first, second);
            let twice = |pattern| _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(pattern));
            let low = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
            let high = _mm_add_epi8(low, _mm_set1_epi8(1));
            let signs = _mm256_broadcastsi128_si256(_mm_loadu_si128(signs.as_ptr().cast()));
            Self { low_bytes: twice(low), high_bytes: _mm256_xor_si256(twice(high), signs) }
        }
    }

    /// Sixteen numbers twice: those of the lower and those of the upper eight codes of each
    /// 128-bit half. Codes are bytes below 16.
    #[inline(always)]
    pub(crate) unsafe fn look_up(self, codes: __m256i) -> [__m256i; 2] {
        // SAFETY: registers only.
        unsafe {
            let low = _mm256_shuffle_epi8(self.low_bytes, codes);
            let high = _mm256_shuffle_epi8(self.high_bytes, codes);
            [_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)]
        }
    }

    /// Writes the numbers of 32 codes, bytes below 16 and [`crossed`], to `at..at + 32`.
    #[inline(always)]
    pub(crate) unsafe fn store_crossed32<T: Lanes>(self, at: *mut T, codes: __m256i) {
        // SAFETY: 32 may be written.
        unsafe {
            let [first, second] = self.look_up(codes);
            _mm256_storeu_si256(at.cast(), first);
            _mm256_storeu_si256(at.cast::<__m256i>().add(1), second);
        }
    }
}

/// Puts the four quarters of 32 bytes into the order 0, 2, 1, 3: unpacking, which works within
/// 128-bit halves, then gives elements in order.
#[inline(always)]
pub(crate) unsafe fn crossed(bytes: __m256i) -> __m256i {
    // SAFETY: registers only.
    unsafe { _mm256_permute4x64_epi64::<0b11_01_10_00>(bytes) }
}

/// The nibbles of sixteen bytes, low ones first, as 32 bytes that are [`crossed`].
#[inline(always)]
pub(crate) unsafe fn crossed_nibbles32(at: *const u8) -> __m256i {
    // SAFETY: sixteen bytes may be read.
    unsafe {
        let bytes = _mm256_castsi128_si256(_mm_loadu_si128(at.cast()));
        let twice = _mm256_permute4x64_epi64::<0b01_01_00_00>(bytes);
        let both = _mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 4, 0, 4));
        _mm256_and_si256(both, _mm256_set1_epi8(15))
    }
}

/// Whether this CPU has what the level needs.
pub(crate) fn is_available() -> bool {
    std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("f16c")
        && std::is_x86_feature_detected!("fma")
}
