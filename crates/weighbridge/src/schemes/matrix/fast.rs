//! Segments at the AVX2 level: whole vectors of the common kinds of codes.
//!
//! Codes of four bits stand for sixteen numbers, which are combined with the factors once; then
//! every element is a lookup. Bytes are widened from memory and computed, sixteen at a time.
#![allow(unsafe_code)] // Intrinsics.

use std::arch::x86_64::*;

use super::Factor;
use super::apply::{Arithmetic, Segment};
use super::codes::{Codes, Kind, Packing};
use crate::simd::Number;
use crate::simd::avx2::{self, Table16};

/// Decodes the front of a segment and says how many elements that were.
///
/// # Safety
///
/// The CPU has AVX2 and F16C.
#[inline(always)]
pub(super) unsafe fn decode<T: Number>(
    codes: &Codes,
    arithmetic: Arithmetic,
    segment: Segment<'_>,
    out: &mut [T],
) -> usize {
    let (bytes, count) = (segment.bytes, out.len());
    // SAFETY: each form reads `count` codes from the start of the segment, which the bytes hold,
    // and writes that many elements.
    unsafe {
        match codes.kind {
            Kind::Sixteen if segment.start.is_multiple_of(2) && count >= 16 => {
                assert!(segment.start / 2 + count / 2 <= bytes.len());
                let at = bytes.as_ptr().add(segment.start / 2);
                let low_first = codes.packing == Packing::LowNibbles;
                let values = finished::<T>(codes, arithmetic, segment);
                nibbles(at, low_first, values, out)
            }
            Kind::Signed | Kind::Unsigned | Kind::E4m3 | Kind::E5m2 => {
                assert!(segment.start + count <= bytes.len());
                let at = bytes.as_ptr().add(segment.start);
                bytes16(codes.kind, arithmetic, segment, at, out)
            }
            _ => 0,
        }
    }
}

/// Numbers combined with factors.
#[inline(always)]
unsafe fn combined<T: Number>(
    arithmetic: Arithmetic,
    stepwise: bool,
    factor: Factor,
    numbers: __m256,
) -> __m256 {
    // SAFETY: registers only.
    unsafe {
        let (scale, offset) = (_mm256_set1_ps(factor.scale), _mm256_set1_ps(factor.offset));
        match arithmetic {
            Arithmetic::Times => _mm256_mul_ps(numbers, scale),
            Arithmetic::MinusTimes => _mm256_mul_ps(_mm256_sub_ps(numbers, offset), scale),
            Arithmetic::TimesPlus if stepwise => {
                _mm256_add_ps(T::step8(_mm256_mul_ps(numbers, scale)), offset)
            }
            Arithmetic::TimesPlus => _mm256_add_ps(_mm256_mul_ps(numbers, scale), offset),
            Arithmetic::TimesTimes(constant) => {
                _mm256_mul_ps(_mm256_mul_ps(numbers, scale), _mm256_set1_ps(constant))
            }
        }
    }
}

/// The sixteen values that the codes of a segment stand for.
#[inline(always)]
unsafe fn finished<T: Number>(
    codes: &Codes,
    arithmetic: Arithmetic,
    Segment { factor, stepwise, .. }: Segment<'_>,
) -> [__m256; 2] {
    // SAFETY: sixteen numbers are read.
    unsafe {
        let at = codes.numbers.as_ptr();
        [
            combined::<T>(arithmetic, stepwise, factor, _mm256_loadu_ps(at)),
            combined::<T>(arithmetic, stepwise, factor, _mm256_loadu_ps(at.add(8))),
        ]
    }
}

/// Nibbles looked up among sixteen values: 32 at a time, then 16.
#[inline(always)]
unsafe fn nibbles<T: Number>(
    at: *const u8,
    low_first: bool,
    values: [__m256; 2],
    out: &mut [T],
) -> usize {
    // SAFETY: passed on.
    unsafe {
        match T::IS_16_BIT {
            true => nibbles_in_table(at, low_first, Table16::new::<T>(values[0], values[1]), out),
            false => nibbles_in_lanes(at, low_first, values, out),
        }
    }
}

/// Outputs of sixteen bits, from a table.
#[inline(always)]
unsafe fn nibbles_in_table<T: Number>(
    at: *const u8,
    low_first: bool,
    table: Table16,
    out: &mut [T],
) -> usize {
    let mut done = 0;
    // SAFETY: half as many bytes as elements are read, which the caller saw to.
    unsafe {
        while done + 32 <= out.len() {
            let [first, second] = pairs(_mm_loadu_si128(at.add(done / 2).cast()), low_first);
            // Quarters 0, 2, 1, 3 of the 32 codes: see `avx2::crossed`.
            let crossed = _mm256_set_m128i(
                _mm_unpackhi_epi64(first, second),
                _mm_unpacklo_epi64(first, second),
            );
            table.store_crossed32(out.as_mut_ptr().add(done), crossed);
            done += 32;
        }
        if done + 16 <= out.len() {
            let [codes, _] = pairs(_mm_loadl_epi64(at.add(done / 2).cast()), low_first);
            let twice = _mm256_castsi128_si256(codes);
            let [words, _] = table.look_up(_mm256_permute4x64_epi64::<0b01_01_00_00>(twice));
            _mm256_storeu_si256(out.as_mut_ptr().add(done).cast(), words);
            done += 16;
        }
    }
    done
}

/// Single precision, picked lane by lane.
#[inline(always)]
unsafe fn nibbles_in_lanes<T: Number>(
    at: *const u8,
    low_first: bool,
    values: [__m256; 2],
    out: &mut [T],
) -> usize {
    let mut done = 0;
    // SAFETY: half as many bytes as elements are read, which the caller saw to.
    unsafe {
        while done + 16 <= out.len() {
            let [codes, _] = pairs(_mm_loadl_epi64(at.add(done / 2).cast()), low_first);
            store_picked(out.as_mut_ptr().add(done), values, codes);
            done += 16;
        }
    }
    done
}

/// The nibbles of sixteen bytes, two a byte, as 32 bytes in the order of the elements.
#[inline(always)]
unsafe fn pairs(bytes: __m128i, low_first: bool) -> [__m128i; 2] {
    // SAFETY: registers only.
    unsafe {
        let mask = _mm_set1_epi8(15);
        let low = _mm_and_si128(bytes, mask);
        let high = _mm_and_si128(_mm_srli_epi16::<4>(bytes), mask);
        let (even, odd) = if low_first { (low, high) } else { (high, low) };
        [_mm_unpacklo_epi8(even, odd), _mm_unpackhi_epi8(even, odd)]
    }
}

/// Sixteen of sixteen values, picked by codes.
#[inline(always)]
unsafe fn store_picked<T: Number>(to: *mut T, values: [__m256; 2], codes: __m128i) {
    // SAFETY: sixteen may be written.
    unsafe {
        let pick = |codes: __m256i| {
            let low = _mm256_permutevar8x32_ps(values[0], codes);
            let high = _mm256_permutevar8x32_ps(values[1], codes);
            // The fourth bit, moved to the sign, chooses.
            _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(codes)))
        };
        let first = pick(_mm256_cvtepu8_epi32(codes));
        let second = pick(_mm256_cvtepu8_epi32(_mm_srli_si128::<8>(codes)));
        T::store16(to, first, second);
    }
}

/// Bytes that are numbers by themselves, sixteen at a time.
#[inline(always)]
unsafe fn bytes16<T: Number>(
    kind: Kind,
    arithmetic: Arithmetic,
    Segment { factor, stepwise, .. }: Segment<'_>,
    at: *const u8,
    out: &mut [T],
) -> usize {
    let mut done = 0;
    // SAFETY: as many bytes as elements are read, which the caller saw to.
    unsafe {
        while done + 16 <= out.len() {
            let bytes = _mm_loadu_si128(at.add(done).cast());
            if kind == Kind::E4m3 && has_e4m3_nan(bytes) {
                break;
            }
            let [even, odd] = match kind {
                Kind::Signed => words_apart(_mm256_cvtepi8_epi16(bytes)),
                Kind::Unsigned => words_apart(_mm256_cvtepu8_epi16(bytes)),
                Kind::E5m2 => e5m2_apart(bytes),
                _ => e4m3_apart(_mm256_cvtepi8_epi16(bytes)),
            };
            let even = combined::<T>(arithmetic, stepwise, factor, even);
            let odd = combined::<T>(arithmetic, stepwise, factor, odd);
            T::store_woven16(out.as_mut_ptr().add(done), even, odd);
            done += 16;
        }
    }
    done
}

/// Even and odd words as numbers.
#[inline(always)]
unsafe fn words_apart(words: __m256i) -> [__m256; 2] {
    // SAFETY: registers only.
    unsafe { [avx2::even(words), avx2::odd(words)] }
}

/// Whether any of sixteen bytes is a NaN of E4M3. The definition deals with those.
#[inline(always)]
unsafe fn has_e4m3_nan(bytes: __m128i) -> bool {
    // SAFETY: registers only.
    unsafe {
        let magnitude = _mm_and_si128(bytes, _mm_set1_epi8(0x7f));
        _mm_movemask_epi8(_mm_cmpeq_epi8(magnitude, _mm_set1_epi8(0x7f))) != 0
    }
}

/// Sixteen bytes of E4M3, sign-extended to words, as even and odd numbers.
///
/// Sign, exponent and fraction move to their places in f32; the multiplication corrects the bias
/// and normalizes what is subnormal, exactly.
#[inline(always)]
unsafe fn e4m3_apart(words: __m256i) -> [__m256; 2] {
    // SAFETY: registers only.
    unsafe {
        let mask = _mm256_set1_epi32(0x87f0_0000_u32.cast_signed());
        let bias = _mm256_set1_ps(f32::from_bits((127 + 120) << 23));
        let even = _mm256_and_si256(_mm256_slli_epi32::<20>(words), mask);
        let odd = _mm256_and_si256(_mm256_slli_epi32::<4>(words), mask);
        [
            _mm256_mul_ps(_mm256_castsi256_ps(even), bias),
            _mm256_mul_ps(_mm256_castsi256_ps(odd), bias),
        ]
    }
}

/// Sixteen bytes of E5M2 as even and odd numbers: half precision without its lower byte.
#[inline(always)]
unsafe fn e5m2_apart(bytes: __m128i) -> [__m256; 2] {
    // SAFETY: registers only.
    unsafe {
        let even = _mm_and_si128(bytes, _mm_set1_epi16(0xff));
        let even = _mm_slli_epi16::<8>(even);
        let odd = _mm_and_si128(bytes, _mm_set1_epi16(0xff00_u16.cast_signed()));
        [_mm256_cvtph_ps(even), _mm256_cvtph_ps(odd)]
    }
}
