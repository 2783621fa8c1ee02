//! Groups and segments at the AVX2 level: whole vectors of the common kinds of codes.
//!
//! Codes of four bits stand for sixteen numbers, which are combined with the factors once; then
//! every element is a lookup (`nibbles`). Bytes are widened from memory and computed, sixteen at a
//! time (`bytes`). Groups are small and many: whatever is the same for all of them is decided
//! once, outside the loops.
#![allow(unsafe_code)] // Intrinsics.

mod bytes;
mod nibbles;

use std::arch::x86_64::*;

use bytes::{bytes16, e4m3_group, have_room};
use nibbles::{finished, nibbles, nibbles_in_table, small_groups};

use crate::simd::Number;
use crate::simd::avx2::Table16;
use crate::simd::avx2::lanes::{is_16_bit, step8};
use crate::simd::codes::{Arithmetic, Codes, Factor, Kind, Packing, Run, Segment};

/// Decodes the front of a segment and returns how many elements it decoded.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn segment<T: Number>(
    codes: &Codes,
    arithmetic: Arithmetic,
    segment: Segment<'_>,
    out: &mut [T],
) -> usize {
    let (bytes, count) = (segment.bytes, out.len());
    // SAFETY: the bytes hold `count` codes from the start of the segment; each form reads at most
    // those, and writes that many elements.
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

/// Decodes the whole groups at the front of a run and returns how many elements it decoded.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn groups<T: Number>(
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

/// Whole groups to decode.
struct Groups<'a, T> {
    codes: &'a Codes,
    /// [`Codes::mirror`].
    signs: Option<[u8; 16]>,
    arithmetic: Arithmetic,
    stepwise: bool,
    run: &'a Run<'a>,
    /// Room for the numbers of whole groups only.
    out: &'a mut [T],
}

impl<T: Number> Groups<'_, T> {
    /// Codes of four bits.
    ///
    /// # Safety
    ///
    /// Half as many bytes as `out` has elements may be read from `at`. The CPU has AVX2, F16C and
    /// FMA.
    #[inline(always)]
    unsafe fn of_nibbles<const LOW_FIRST: bool>(self, at: *const u8) {
        let Self { codes, signs, arithmetic, stepwise, run, out } = self;
        let mirror = signs.filter(|_| is_16_bit::<T>() && arithmetic == Arithmetic::Times);
        let groups = run.factors.iter().zip(out.chunks_exact_mut(run.group)).enumerate();
        // SAFETY: half as many bytes as elements are read; the caller provides them.
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
    ///
    /// # Safety
    ///
    /// As many bytes as `out` has elements may be read from `at`. The CPU has AVX2, F16C and FMA.
    #[inline(always)]
    unsafe fn of_bytes(self, at: *const u8) -> usize {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            match self.codes.kind {
                Kind::Signed => self.of_kind(Kind::Signed, at),
                Kind::Unsigned => self.of_kind(Kind::Unsigned, at),
                Kind::E5m2 => self.of_kind(Kind::E5m2, at),
                _ => self.of_kind(Kind::E4m3, at),
            }
        }
    }

    /// Returns how many elements it decoded; it stops before a group that holds a NaN.
    ///
    /// # Safety
    ///
    /// As many bytes as `out` has elements may be read from `at`. The CPU has AVX2, F16C and FMA.
    #[inline(always)]
    unsafe fn of_kind(self, kind: Kind, at: *const u8) -> usize {
        let Self { arithmetic, stepwise, run, out, .. } = self;
        let count = out.len();
        let groups = run.factors.iter().zip(out.chunks_exact_mut(run.group)).enumerate();
        if kind == Kind::E4m3 && arithmetic == Arithmetic::Times && have_room(run.factors) {
            for (index, (factor, out)) in groups {
                // SAFETY: as many bytes as elements are read; the caller provides them.
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

/// Numbers combined with factors.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
fn combined<T: Number>(
    arithmetic: Arithmetic,
    stepwise: bool,
    factor: Factor,
    numbers: __m256,
) -> __m256 {
    let (scale, offset) = (_mm256_set1_ps(factor.scale), _mm256_set1_ps(factor.offset));
    match arithmetic {
        Arithmetic::Times => _mm256_mul_ps(numbers, scale),
        Arithmetic::MinusTimes => _mm256_mul_ps(_mm256_sub_ps(numbers, offset), scale),
        Arithmetic::TimesPlus if stepwise => {
            _mm256_add_ps(step8::<T>(_mm256_mul_ps(numbers, scale)), offset)
        }
        Arithmetic::TimesPlus => _mm256_add_ps(_mm256_mul_ps(numbers, scale), offset),
        Arithmetic::TimesTimes(constant) => {
            _mm256_mul_ps(_mm256_mul_ps(numbers, scale), _mm256_set1_ps(constant))
        }
    }
}
