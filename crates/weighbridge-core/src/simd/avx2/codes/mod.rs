//! Groups and segments at the AVX2 level: whole vectors of the common kinds of codes.
//!
//! Codes of four bits stand for sixteen numbers, which are combined with the factors once; then
//! every element is a lookup (`nibbles`). Bytes are widened from memory and computed, sixteen at a
//! time (`bytes`). Groups are small and many: whatever is the same for all of them is decided
//! once, outside the loops.

mod bytes;
mod nibbles;

use std::arch::x86_64::*;

use bytes::{bytes16, e4m3_group, have_room};
use nibbles::{finished, nibbles, nibbles_in_table, small_groups};

use crate::simd::Number;
use crate::simd::avx2::Table16;
use crate::simd::avx2::lanes::{is_16_bit, step8};
use crate::simd::codes::{Arithmetic, CodeKind, Factor, Packing, Rule, Run, Segment};

/// Decodes the front of a segment and returns how many elements it decoded.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn segment<T: Number>(rule: Rule<'_>, segment: Segment<'_>, out: &mut [T]) -> usize {
    let (bytes, count) = (segment.bytes, out.len());
    // SAFETY: the bytes hold `count` codes from the start of the segment; each form reads at most
    // those, and writes that many elements.
    unsafe {
        match rule.codes.kind {
            CodeKind::Sixteen if segment.start.is_multiple_of(2) && count >= 16 => {
                assert!(segment.start / 2 + count / 2 <= bytes.len());
                let at = bytes.as_ptr().add(segment.start / 2);
                let values = finished::<T>(rule, segment.factor);
                match rule.codes.packing {
                    Packing::LowNibbles => nibbles::<T, true>(at, values, out),
                    _ => nibbles::<T, false>(at, values, out),
                }
            }
            CodeKind::Sixteen | CodeKind::Other => 0,
            kind => {
                assert!(segment.start + count <= bytes.len());
                bytes16(kind, rule, segment.factor, bytes.as_ptr().add(segment.start), out)
            }
        }
    }
}

/// Decodes the whole groups at the front of a run and returns how many elements it decoded.
#[inline]
#[target_feature(enable = "avx2,f16c,fma")]
pub(super) fn groups<T: Number>(rule: Rule<'_>, run: &Run<'_>, out: &mut [T]) -> usize {
    if run.into != 0 || !run.group.is_multiple_of(16) {
        return 0;
    }
    let count = (out.len() / run.group).min(run.factors.len()) * run.group;
    let groups = Groups { rule, run, out: &mut out[..count] };
    // SAFETY: the bytes hold `count` codes from the start of the run.
    unsafe {
        match rule.codes.kind {
            CodeKind::Sixteen if run.start.is_multiple_of(2) => {
                assert!(run.start / 2 + count / 2 <= run.codes.len());
                let at = run.codes.as_ptr().add(run.start / 2);
                match rule.codes.packing {
                    Packing::LowNibbles => groups.of_nibbles::<true>(at),
                    _ => groups.of_nibbles::<false>(at),
                }
                count
            }
            CodeKind::Sixteen | CodeKind::Other => 0,
            kind => {
                assert!(run.start + count <= run.codes.len());
                let at = run.codes.as_ptr().add(run.start);
                // One loop for each kind.
                match kind {
                    CodeKind::Signed => groups.of_kind(CodeKind::Signed, at),
                    CodeKind::Unsigned => groups.of_kind(CodeKind::Unsigned, at),
                    CodeKind::E5m2 => groups.of_kind(CodeKind::E5m2, at),
                    _ => groups.of_kind(CodeKind::E4m3, at),
                }
            }
        }
    }
}

/// Whole groups to decode.
struct Groups<'a, T> {
    rule: Rule<'a>,
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
        let Self { rule, run, out } = self;
        let is_mirrored = is_16_bit::<T>() && rule.arithmetic == Arithmetic::Times;
        let mirror = rule.codes.mirror.filter(|_| is_mirrored);
        let groups = run.factors.iter().zip(out.chunks_exact_mut(run.group)).enumerate();
        // SAFETY: half as many bytes as elements are read; the caller provides them.
        unsafe {
            match mirror {
                Some(signs) if run.group == 16 => {
                    small_groups::<T, LOW_FIRST>(rule.codes, signs, run.factors, at, out);
                }
                Some(signs) => {
                    let numbers = _mm256_loadu_ps(rule.codes.numbers.as_ptr());
                    for (index, (factor, out)) in groups {
                        let values = _mm256_mul_ps(numbers, _mm256_set1_ps(factor.scale));
                        let table = Table16::mirrored::<T>(values, values, signs);
                        let at = at.add(index * run.group / 2);
                        nibbles_in_table::<T, LOW_FIRST>(at, table, out);
                    }
                }
                None => {
                    for (index, (factor, out)) in groups {
                        let values = finished::<T>(rule, *factor);
                        let at = at.add(index * run.group / 2);
                        nibbles::<T, LOW_FIRST>(at, values, out);
                    }
                }
            }
        }
    }

    /// Returns how many elements it decoded; it stops before a group that holds a NaN.
    ///
    /// # Safety
    ///
    /// As many bytes as `out` has elements may be read from `at`. The CPU has AVX2, F16C and FMA.
    #[inline(always)]
    unsafe fn of_kind(self, kind: CodeKind, at: *const u8) -> usize {
        let Self { rule, run, out } = self;
        let count = out.len();
        let groups = run.factors.iter().zip(out.chunks_exact_mut(run.group)).enumerate();
        if kind == CodeKind::E4m3 && rule.arithmetic == Arithmetic::Times && have_room(run.factors)
        {
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
            let done = unsafe { bytes16(kind, rule, *factor, at.add(index * run.group), out) };
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
fn combined<T: Number>(rule: Rule<'_>, factor: Factor, numbers: __m256) -> __m256 {
    let (scale, offset) = (_mm256_set1_ps(factor.scale), _mm256_set1_ps(factor.offset));
    match rule.arithmetic {
        Arithmetic::Times => _mm256_mul_ps(numbers, scale),
        Arithmetic::MinusTimes => _mm256_mul_ps(_mm256_sub_ps(numbers, offset), scale),
        Arithmetic::TimesPlus if rule.stepwise => {
            _mm256_add_ps(step8::<T>(_mm256_mul_ps(numbers, scale)), offset)
        }
        Arithmetic::TimesPlus => _mm256_add_ps(_mm256_mul_ps(numbers, scale), offset),
        Arithmetic::TimesTimes(constant) => {
            _mm256_mul_ps(_mm256_mul_ps(numbers, scale), _mm256_set1_ps(constant))
        }
    }
}
