//! Codes of four bits, looked up among sixteen values.

use std::arch::x86_64::*;

use super::combined;
use crate::simd::Number;
use crate::simd::avx2::Table16;
use crate::simd::avx2::lanes::{is_16_bit, store16};
use crate::simd::codes::{Codes, Factor, Rule};

/// Groups of sixteen codes, two at a time: each half of a register has a table of its own.
///
/// # Safety
///
/// Half as many bytes as `out` has elements may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn small_groups<T: Number, const LOW_FIRST: bool>(
    codes: &Codes,
    signs: [u8; 16],
    factors: &[Factor],
    at: *const u8,
    out: &mut [T],
) {
    // SAFETY: for each group, eight bytes are read and sixteen numbers written.
    unsafe {
        let numbers = _mm256_loadu_ps(codes.numbers.as_ptr());
        let values = |factor: &Factor| _mm256_mul_ps(numbers, _mm256_set1_ps(factor.scale));
        let (pairs_out, last_out) = out.as_chunks_mut::<32>();
        let (pairs_of, last) = factors[..(pairs_out.len() * 2 + last_out.len() / 16)].as_chunks();
        for (index, ([first, second], out)) in pairs_of.iter().zip(pairs_out).enumerate() {
            let table = Table16::mirrored::<T>(values(first), values(second), signs);
            let bytes = _mm_loadu_si128(at.add(index * 16).cast());
            let [first, second] = pairs::<LOW_FIRST>(bytes);
            let [low, high] = table.look_up(_mm256_set_m128i(second, first));
            let out = out.as_mut_ptr().cast::<__m256i>();
            _mm256_storeu_si256(out, _mm256_permute2x128_si256::<0x20>(low, high));
            _mm256_storeu_si256(out.add(1), _mm256_permute2x128_si256::<0x31>(low, high));
        }
        if let [factor] = last {
            let values = values(factor);
            let table = Table16::mirrored::<T>(values, values, signs);
            nibbles_in_table::<T, LOW_FIRST>(at.add(pairs_of.len() * 16), table, last_out);
        }
    }
}

/// The sixteen values that the codes of a segment stand for.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn finished<T: Number>(rule: Rule<'_>, factor: Factor) -> [__m256; 2] {
    let at = rule.codes.numbers.as_ptr();
    // SAFETY: sixteen numbers are read.
    let [low, high] = unsafe { [_mm256_loadu_ps(at), _mm256_loadu_ps(at.add(8))] };
    [combined::<T>(rule, factor, low), combined::<T>(rule, factor, high)]
}

/// Nibbles looked up among sixteen values: 32 at a time, then 16.
///
/// # Safety
///
/// Half as many bytes as `out` has elements may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn nibbles<T: Number, const LOW_FIRST: bool>(
    at: *const u8,
    values: [__m256; 2],
    out: &mut [T],
) -> usize {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        if is_16_bit::<T>() {
            let table = Table16::new::<T>(values[0], values[1]);
            nibbles_in_table::<T, LOW_FIRST>(at, table, out)
        } else {
            nibbles_in_lanes::<T, LOW_FIRST>(at, values, out)
        }
    }
}

/// Outputs of sixteen bits, from a table.
///
/// # Safety
///
/// Half as many bytes as `out` has elements may be read from `at`. They have sixteen bits. The CPU
/// has AVX2, F16C and FMA.
#[inline(always)]
pub(super) unsafe fn nibbles_in_table<T: Number, const LOW_FIRST: bool>(
    at: *const u8,
    table: Table16,
    out: &mut [T],
) -> usize {
    let mut done = 0;
    // SAFETY: half as many bytes as elements are read; the caller provides them.
    unsafe {
        while done + 32 <= out.len() {
            let [first, second] = pairs::<LOW_FIRST>(_mm_loadu_si128(at.add(done / 2).cast()));
            // Quarters 0, 2, 1, 3 of the 32 codes: see `avx2::crossed`.
            let crossed = _mm256_set_m128i(
                _mm_unpackhi_epi64(first, second),
                _mm_unpacklo_epi64(first, second),
            );
            table.store_crossed32(out.as_mut_ptr().add(done), crossed);
            done += 32;
        }
        if done + 16 <= out.len() {
            let [codes, _] = pairs::<LOW_FIRST>(_mm_loadl_epi64(at.add(done / 2).cast()));
            let twice = _mm256_castsi128_si256(codes);
            let [words, _] = table.look_up(_mm256_permute4x64_epi64::<0b01_01_00_00>(twice));
            _mm256_storeu_si256(out.as_mut_ptr().add(done).cast(), words);
            done += 16;
        }
    }
    done
}

/// Single precision, picked lane by lane.
///
/// # Safety
///
/// Half as many bytes as `out` has elements may be read from `at`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn nibbles_in_lanes<T: Number, const LOW_FIRST: bool>(
    at: *const u8,
    values: [__m256; 2],
    out: &mut [T],
) -> usize {
    let mut done = 0;
    // SAFETY: half as many bytes as elements are read; the caller provides them.
    unsafe {
        while done + 16 <= out.len() {
            let [codes, _] = pairs::<LOW_FIRST>(_mm_loadl_epi64(at.add(done / 2).cast()));
            store_picked(out.as_mut_ptr().add(done), values, codes);
            done += 16;
        }
    }
    done
}

/// The nibbles of sixteen bytes as 32 bytes, in the order of the elements.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn pairs<const LOW_FIRST: bool>(bytes: __m128i) -> [__m128i; 2] {
    let mask = _mm_set1_epi8(15);
    let low = _mm_and_si128(bytes, mask);
    let high = _mm_and_si128(_mm_srli_epi16::<4>(bytes), mask);
    let (even, odd) = if LOW_FIRST { (low, high) } else { (high, low) };
    [_mm_unpacklo_epi8(even, odd), _mm_unpackhi_epi8(even, odd)]
}

/// Writes the values that sixteen codes pick from a table of sixteen.
///
/// # Safety
///
/// Sixteen numbers may be written to `to`. The CPU has AVX2, F16C and FMA.
#[inline(always)]
unsafe fn store_picked<T: Number>(to: *mut T, values: [__m256; 2], codes: __m128i) {
    // SAFETY: sixteen may be written.
    unsafe {
        let pick = |codes: __m256i| {
            let low = _mm256_permutevar8x32_ps(values[0], codes);
            let high = _mm256_permutevar8x32_ps(values[1], codes);
            // The fourth bit moves to the sign, by which the blend chooses.
            _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(codes)))
        };
        let first = pick(_mm256_cvtepu8_epi32(codes));
        let second = pick(_mm256_cvtepu8_epi32(_mm_srli_si128::<8>(codes)));
        store16(to, first, second);
    }
}
