//! Groups and segments at the AVX2 level: whole vectors of the common kinds of codes.
//!
//! Codes of four bits stand for sixteen numbers, which are combined with the factors once; then
//! every element is a lookup. Bytes are widened from memory and computed, sixteen at a time.
//! There are many small groups: what they have in common is decided once, outside the loops.
#![allow(unsafe_code)] // Intrinsics.

use std::arch::x86_64::*;

use crate::simd::Number;
use crate::simd::avx2::{self, Table16};
use crate::simd::codes::{Arithmetic, Codes, Factor, Kind, Packing, Run, Segment};

/// Decodes the front of a segment and gives how many elements those were.
///
/// # Safety
///
/// The CPU has AVX2 and F16C.
#[inline(always)]
pub(super) unsafe fn segment<T: Number>(
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
                let values = finished::<T>(codes, arithmetic, segment.stepwise, segment.factor);
                match codes.packing {
                    Packing::LowNibbles => nibbles::<T, true>(at, values, out),
                    _ => nibbles::<T, false>(at, values, out),
                }
            }
            Kind::Signed | Kind::Unsigned | Kind::E4m3 | Kind::E5m2 => {
                assert!(segment.start + count <= bytes.len());
                let at = bytes.as_ptr().add(segment.start);
                bytes16(codes.kind, arithmetic, segment.stepwise, segment.factor, at, out)
            }
            _ => 0,
        }
    }
}

/// Decodes the whole groups at the front of a run and gives how many elements those were.
///
/// # Safety
///
/// The CPU has AVX2 and F16C.
#[inline(always)]
pub(super) unsafe fn groups<T: Number>(
    codes: &Codes,
    signs: Option<[u8; 16]>,
    arithmetic: Arithmetic,
    stepwise: bool,
    run: &Run<'_>,
    out: &mut [T],
) -> usize {
    if run.into != 0 || !run.group.is_multiple_of(16) {
        return 0;
    }
    let count = (out.len() / run.group).min(run.factors.len()) * run.group;
    let out = &mut out[..count];
    let groups = |out| Groups { codes, signs, arithmetic, stepwise, run, out };
    // SAFETY: the bytes hold `count` codes from the start of the run.
    unsafe {
        match (codes.kind, codes.packing) {
            (Kind::Sixteen, _) if !run.start.is_multiple_of(2) => return 0,
            (Kind::Sixteen, packing) => {
                assert!(run.start / 2 + count / 2 <= run.codes.len());
                let at = run.codes.as_ptr().add(run.start / 2);
                match packing {
                    Packing::LowNibbles => groups(out).of_nibbles::<true>(at),
                    _ => groups(out).of_nibbles::<false>(at),
                }
            }
            (Kind::Signed | Kind::Unsigned | Kind::E4m3 | Kind::E5m2, _) => {
                assert!(run.start + count <= run.codes.len());
                let at = run.codes.as_ptr().add(run.start);
                return groups(out).of_bytes(at);
            }
            (Kind::Other, _) => return 0,
        }
    }
    count
}

/// Whole groups that are to be decoded.
struct Groups<'a, T> {
    codes: &'a Codes,
    /// [`Codes::mirror`].
    signs: Option<[u8; 16]>,
    arithmetic: Arithmetic,
    stepwise: bool,
    run: &'a Run<'a>,
    /// As many numbers as there are whole groups of them.
    out: &'a mut [T],
}

impl<T: Number> Groups<'_, T> {
    #[inline(always)]
    unsafe fn of_nibbles<const LOW_FIRST: bool>(self, at: *const u8) {
        let Self { codes, signs, arithmetic, stepwise, run, out } = self;
        let mirror = signs.filter(|_| T::IS_16_BIT && arithmetic == Arithmetic::Times);
        let groups = run.factors.iter().zip(out.chunks_exact_mut(run.group)).enumerate();
        // SAFETY: half as many bytes as elements are read, which the caller saw to.
        unsafe {
            match mirror {
                Some(signs) if run.group == 16 => {
                    small_groups::<T, LOW_FIRST>(codes, signs, run.factors, at, out);
                }
                Some(signs) => {
                    let numbers = _mm256_loadu_ps(codes.numbers.as_ptr());
                    for (index, (factor, out)) in groups {
                        let values = _mm256_mul_ps(numbers, _mm256_set1_ps(factor.scale));
                        let table = Table16::mirrored::<T>(values, values, signs);
                        let at = at.add(index * run.group / 2);
                        nibbles_in_table::<T, LOW_FIRST>(at, table, out);
                    }
                }
                None => {
                    for (index, (factor, out)) in groups {
                        let values = finished::<T>(codes, arithmetic, stepwise, *factor);
                        let at = at.add(index * run.group / 2);
                        nibbles::<T, LOW_FIRST>(at, values, out);
                    }
                }
            }
        }
    }

    /// One loop for each kind.
    #[inline(always)]
    unsafe fn of_bytes(self, at: *const u8) -> usize {
        // SAFETY: passed on.
        unsafe {
            match self.codes.kind {
                Kind::Signed => self.of_kind(Kind::Signed, at),
                Kind::Unsigned => self.of_kind(Kind::Unsigned, at),
                Kind::E5m2 => self.of_kind(Kind::E5m2, at),
                _ => self.of_kind(Kind::E4m3, at),
            }
        }
    }

    /// Gives how many elements it did; it stops before a group that holds a NaN.
    #[inline(always)]
    unsafe fn of_kind(self, kind: Kind, at: *const u8) -> usize {
        let Self { arithmetic, stepwise, run, out, .. } = self;
        let count = out.len();
        let groups = run.factors.iter().zip(out.chunks_exact_mut(run.group)).enumerate();
        if kind == Kind::E4m3 && arithmetic == Arithmetic::Times && have_room(run.factors) {
            for (index, (factor, out)) in groups {
                // SAFETY: as many bytes as elements are read, which the caller saw to.
                let is_done = unsafe { e4m3_group(factor.scale, at.add(index * run.group), out) };
                if !is_done {
                    return index * run.group;
                }
            }
            return count;
        }
        for (index, (factor, out)) in groups {
            // SAFETY: as above.
            let done = unsafe {
                bytes16(kind, arithmetic, stepwise, *factor, at.add(index * run.group), out)
            };
            if done < out.len() {
                return index * run.group;
            }
        }
        count
    }
}

/// How many times too small [`e4m3_apart`]'s numbers are.
const POWER: f32 = 256.0;

/// Whether [`POWER`] can be made part of every scale.
#[inline(always)]
fn have_room(factors: &[Factor]) -> bool {
    factors.iter().fold(true, |all, factor| all & (factor.scale * POWER).is_finite())
}

/// Decodes a group of E4M3 numbers, then tells whether none of them was NaN.
#[inline(always)]
unsafe fn e4m3_group<T: Number>(scale: f32, at: *const u8, out: &mut [T]) -> bool {
    // SAFETY: sixteen bytes are read for every sixteen elements, which the caller saw to.
    unsafe {
        let scale = _mm256_set1_ps(scale * POWER);
        let (magnitude, mut nans) = (_mm_set1_epi8(0x7f), _mm_setzero_si128());
        for (index, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let bytes = _mm_loadu_si128(at.add(index * 16).cast());
            let nan = _mm_cmpeq_epi8(_mm_and_si128(bytes, magnitude), magnitude);
            nans = _mm_or_si128(nans, nan);
            let [even, odd] = e4m3_apart(bytes);
            T::store_woven16(
                out.as_mut_ptr(),
                _mm256_mul_ps(even, scale),
                _mm256_mul_ps(odd, scale),
            );
        }
        _mm_movemask_epi8(nans) == 0
    }
}

/// Groups of sixteen codes, two at a time: each half of a register has a table of its own.
#[inline(always)]
unsafe fn small_groups<T: Number, const LOW_FIRST: bool>(
    codes: &Codes,
    signs: [u8; 16],
    factors: &[Factor],
    at: *const u8,
    out: &mut [T],
) {
    // SAFETY: eight bytes a group are read, sixteen numbers written.
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
    stepwise: bool,
    factor: Factor,
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
unsafe fn nibbles<T: Number, const LOW_FIRST: bool>(
    at: *const u8,
    values: [__m256; 2],
    out: &mut [T],
) -> usize {
    // SAFETY: passed on.
    unsafe {
        match T::IS_16_BIT {
            true => {
                let table = Table16::new::<T>(values[0], values[1]);
                nibbles_in_table::<T, LOW_FIRST>(at, table, out)
            }
            false => nibbles_in_lanes::<T, LOW_FIRST>(at, values, out),
        }
    }
}

/// Outputs of sixteen bits, from a table.
#[inline(always)]
unsafe fn nibbles_in_table<T: Number, const LOW_FIRST: bool>(
    at: *const u8,
    table: Table16,
    out: &mut [T],
) -> usize {
    let mut done = 0;
    // SAFETY: half as many bytes as elements are read, which the caller saw to.
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
#[inline(always)]
unsafe fn nibbles_in_lanes<T: Number, const LOW_FIRST: bool>(
    at: *const u8,
    values: [__m256; 2],
    out: &mut [T],
) -> usize {
    let mut done = 0;
    // SAFETY: half as many bytes as elements are read, which the caller saw to.
    unsafe {
        while done + 16 <= out.len() {
            let [codes, _] = pairs::<LOW_FIRST>(_mm_loadl_epi64(at.add(done / 2).cast()));
            store_picked(out.as_mut_ptr().add(done), values, codes);
            done += 16;
        }
    }
    done
}

/// The nibbles of sixteen bytes, two a byte, as 32 bytes in the order of the elements.
#[inline(always)]
unsafe fn pairs<const LOW_FIRST: bool>(bytes: __m128i) -> [__m128i; 2] {
    // SAFETY: registers only.
    unsafe {
        let mask = _mm_set1_epi8(15);
        let low = _mm_and_si128(bytes, mask);
        let high = _mm_and_si128(_mm_srli_epi16::<4>(bytes), mask);
        let (even, odd) = if LOW_FIRST { (low, high) } else { (high, low) };
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

/// Bytes that each hold a number, sixteen at a time.
#[inline(always)]
unsafe fn bytes16<T: Number>(
    kind: Kind,
    arithmetic: Arithmetic,
    stepwise: bool,
    factor: Factor,
    at: *const u8,
    out: &mut [T],
) -> usize {
    let mut done = 0;
    let (power, factor) = match kind {
        Kind::E4m3 => e4m3_factor(arithmetic, factor),
        _ => (None, factor),
    };
    // SAFETY: as many bytes as elements are read, which the caller saw to.
    unsafe {
        while done + 16 <= out.len() {
            let bytes = _mm_loadu_si128(at.add(done).cast());
            if kind == Kind::E4m3 && has_e4m3_nan(bytes) {
                break;
            }
            let [mut even, mut odd] = match kind {
                Kind::Signed => words_apart(_mm256_cvtepi8_epi16(bytes)),
                Kind::Unsigned => words_apart(_mm256_cvtepu8_epi16(bytes)),
                Kind::E5m2 => e5m2_apart(bytes),
                _ => e4m3_apart(bytes),
            };
            if let Some(power) = power {
                even = _mm256_mul_ps(even, _mm256_set1_ps(power));
                odd = _mm256_mul_ps(odd, _mm256_set1_ps(power));
            }
            let even = combined::<T>(arithmetic, stepwise, factor, even);
            let odd = combined::<T>(arithmetic, stepwise, factor, odd);
            T::store_woven16(out.as_mut_ptr().add(done), even, odd);
            done += 16;
        }
    }
    done
}

/// What is left to make of [`e4m3_apart`]'s numbers: a power of two, which is made part of the
/// scale where that changes nothing.
#[inline(always)]
fn e4m3_factor(arithmetic: Arithmetic, factor: Factor) -> (Option<f32>, Factor) {
    let scale = factor.scale * POWER;
    match arithmetic == Arithmetic::Times && scale.is_finite() {
        true => (None, Factor { scale, ..factor }),
        false => (Some(POWER), factor),
    }
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

/// Sixteen bytes of E4M3 as even and odd numbers, 256 times smaller: half precision has an
/// exponent of one bit more, and widens subnormal numbers as fast as others.
#[inline(always)]
unsafe fn e4m3_apart(bytes: __m128i) -> [__m256; 2] {
    // SAFETY: registers only.
    unsafe {
        // The sign twice, of which the second goes; then exponent and fraction.
        let mask = _mm_set1_epi16(0xbf80_u16.cast_signed());
        let even = _mm_srai_epi16::<1>(_mm_slli_epi16::<8>(bytes));
        let odd = _mm_srai_epi16::<1>(bytes);
        [_mm256_cvtph_ps(_mm_and_si128(even, mask)), _mm256_cvtph_ps(_mm_and_si128(odd, mask))]
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
