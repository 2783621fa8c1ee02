//! Sums by digits, eight codes at a time: a digit picks a lane of a table.

use std::arch::x86_64::*;

use super::super::by_digits::{Tables, Target, bits};
use super::super::vector::LANES;

/// Eight codes.
#[inline]
#[target_feature(enable = "avx2")]
fn load(codes: &[u16; LANES]) -> __m256i {
    // SAFETY: there are eight.
    unsafe { _mm256_cvtepu16_epi32(_mm_loadu_si128(codes.as_ptr().cast())) }
}

/// Removes the first digit of each code.
#[inline]
#[target_feature(enable = "avx2")]
fn next<const DIGITS: usize>(codes: __m256i) -> __m256i {
    match bits::<DIGITS>() {
        2 => _mm256_srli_epi32::<2>(codes),
        _ => _mm256_srli_epi32::<3>(codes),
    }
}

/// Of a table, what the first digits pick.
#[inline]
#[target_feature(enable = "avx2")]
fn pick<const DIGITS: usize>(table: __m256, codes: __m256i) -> __m256 {
    match bits::<DIGITS>() {
        // Both halves of the table are the same. Only the lowest two bits count.
        2 => _mm256_permutevar_ps(table, codes),
        // Only the lowest three bits count.
        _ => _mm256_permutevar8x32_ps(table, codes),
    }
}

/// The least of eight numbers, in all lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn least(numbers: __m256) -> __m256 {
    let halves = _mm256_min_ps(numbers, _mm256_permute2f128_ps::<1>(numbers, numbers));
    let pairs = _mm256_min_ps(halves, _mm256_permute_ps::<0b01_00_11_10>(halves));
    _mm256_min_ps(pairs, _mm256_permute_ps::<0b10_11_00_01>(pairs))
}

/// [`Target::nearest`].
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn nearest<const DIGITS: usize>(
    codes: &[[u16; LANES]],
    target: &Target<'_, DIGITS>,
) -> u16 {
    // SAFETY: there are eight.
    let numbers = unsafe { _mm256_loadu_ps(target.numbers.as_ptr()) };
    let numbers = _mm256_mul_ps(_mm256_set1_ps(target.scale), numbers);
    let mut tables = [_mm256_setzero_ps(); DIGITS];
    let pairs = target.values.iter().zip(target.weights);
    for (table, (&value, &weight)) in tables.iter_mut().zip(pairs) {
        let away = _mm256_sub_ps(numbers, _mm256_set1_ps(value));
        *table = _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(weight), away), away);
    }
    let mut best = _mm256_set1_ps(f32::MAX);
    let mut best_codes = _mm256_set1_epi32(i32::from(codes[0][0]));
    for eight in codes {
        let all = load(eight);
        let (mut rest, mut sums) = (all, _mm256_setzero_ps());
        for table in tables {
            sums = _mm256_add_ps(sums, pick::<DIGITS>(table, rest));
            rest = next::<DIGITS>(rest);
        }
        let is_less = _mm256_cmp_ps::<_CMP_LT_OQ>(sums, best);
        best = _mm256_blendv_ps(best, sums, is_less);
        best_codes = _mm256_blendv_epi8(best_codes, all, _mm256_castps_si256(is_less));
    }
    let is_least = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_EQ_OQ>(best, least(best)));
    let lane = _mm256_set1_epi32(is_least.trailing_zeros().cast_signed());
    let code = _mm256_permutevar8x32_epi32(best_codes, lane);
    let same = _mm256_castsi256_ps(_mm256_cmpeq_epi32(best_codes, code));
    if is_least & !_mm256_movemask_ps(same) != 0 {
        // Several codes have the least sum, and which is the first is not known here.
        return target.nearest(codes);
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It was 16 bits.
    let code = _mm256_cvtsi256_si32(code) as u16;
    code
}

/// [`sums`](super::super::by_digits::sums).
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn sums<const DIGITS: usize>(
    codes: &[[u16; LANES]],
    tables: &[Tables],
) -> [[f32; LANES]; 2] {
    let mut sums = [_mm256_setzero_ps(); 2];
    for (codes, tables) in codes.iter().zip(tables.as_chunks::<DIGITS>().0) {
        let mut rest = load(codes);
        for tables in tables {
            for (sum, table) in sums.iter_mut().zip(tables) {
                // SAFETY: there are eight.
                let table = unsafe { _mm256_loadu_ps(table.as_ptr()) };
                *sum = _mm256_add_ps(*sum, pick::<DIGITS>(table, rest));
            }
            rest = next::<DIGITS>(rest);
        }
    }
    let mut out = [[0.0; LANES]; 2];
    for (out, sum) in out.iter_mut().zip(sums) {
        // SAFETY: there is room for eight.
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), sum) };
    }
    out
}
