//! The nearest of sixteen steps for 32 numbers: their buckets and steps are looked up as bytes.

use std::arch::x86_64::*;

use super::super::steps::Steps;

/// Doubled numbers, which are below 2^31, as steps. Bytes lie as packing leaves them: four of each
/// vector in turn, twice.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn packed(twice: [__m256; 4], steps: &Steps) -> __m256i {
    // SAFETY: the CPU has the instructions, and the tables have 16 bytes.
    unsafe {
        let [a, b, c, d] = twice;
        let from_zero = _mm256_set1_epi16(256);
        let ab = _mm256_add_epi16(_mm256_packs_epi32(whole(a), whole(b)), from_zero);
        let cd = _mm256_add_epi16(_mm256_packs_epi32(whole(c), whole(d)), from_zero);
        let shifted = _mm256_packus_epi16(_mm256_srai_epi16::<4>(ab), _mm256_srai_epi16::<4>(cd));
        let bucket = _mm256_min_epu8(shifted, _mm256_set1_epi8(31));
        let nibble = _mm256_set1_epi8(15);
        let lowest = _mm256_set1_epi16(15);
        let within =
            _mm256_packus_epi16(_mm256_and_si256(ab, lowest), _mm256_and_si256(cd, lowest));
        let first = _mm256_broadcastsi128_si256(_mm_loadu_si128(steps.buckets.as_ptr().cast()));
        let second = _mm_loadu_si128(steps.buckets.as_ptr().add(16).cast());
        let entry = _mm256_blendv_epi8(
            _mm256_shuffle_epi8(first, bucket),
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(second), bucket),
            _mm256_slli_epi16::<3>(bucket),
        );
        let before = _mm256_cmpgt_epi8(_mm256_and_si256(entry, nibble), within);
        let step = _mm256_and_si256(_mm256_srli_epi16::<4>(entry), nibble);
        _mm256_add_epi8(step, before)
    }
}

/// The next whole number downwards.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn whole(of: __m256) -> __m256i {
    const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    _mm256_cvttps_epi32(_mm256_round_ps::<DOWN>(of))
}

/// Four bytes of each half, from `FIRST` on, with their signs.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn widened<const FIRST: i32>(bytes: __m256i) -> __m256 {
    // Each becomes the highest byte of its lane.
    let [a, b, c, d] = const {
        let rest = 0x0080_8080;
        [
            FIRST << 24 | rest,
            (FIRST + 1) << 24 | rest,
            (FIRST + 2) << 24 | rest,
            (FIRST + 3) << 24 | rest,
        ]
    };
    let highest = _mm256_shuffle_epi8(bytes, _mm256_setr_epi32(a, b, c, d, a, b, c, d));
    _mm256_cvtepi32_ps(_mm256_srai_epi32::<24>(highest))
}

/// What the nearest steps stand for.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn values(twice: [__m256; 4], steps: &Steps) -> [__m256; 4] {
    // SAFETY: the CPU has the instructions, and the table has 16 bytes.
    unsafe {
        let table = _mm256_broadcastsi128_si256(_mm_loadu_si128(steps.values.as_ptr().cast()));
        let bytes = _mm256_shuffle_epi8(table, packed(twice, steps));
        [widened::<0>(bytes), widened::<4>(bytes), widened::<8>(bytes), widened::<12>(bytes)]
    }
}

/// The nearest steps, in order.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn codes(twice: [__m256; 4], steps: &Steps) -> [u8; 32] {
    let mut codes = [0; 32];
    // SAFETY: the CPU has the instructions, and there is room for 32.
    unsafe {
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let ordered = _mm256_permutevar8x32_epi32(packed(twice, steps), order);
        _mm256_storeu_si256(codes.as_mut_ptr().cast(), ordered);
    }
    codes
}
