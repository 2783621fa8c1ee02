//! Codes and factors to numbers.
//!
//! The definition takes a code, looks its number up and combines it with its group's factors, a
//! step at a time. The common kinds of codes have forms for AVX2 in `fast`, which do whole groups, and
//! as much of a segment as comes in whole vectors; the definition does the rest.
#![allow(unsafe_code)] // The functions compiled for AVX2.

use super::codes::Codes;
#[cfg(target_arch = "x86_64")]
use super::fast;
use super::{Factor, Run};
use crate::simd::{Level, Number, Set};

/// How a code's number and its group's factors are combined. Every step is rounded to f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Arithmetic {
    /// `number * scale`
    Times,
    /// `(number - offset) * scale`
    MinusTimes,
    /// `number * scale + offset`, the product rounded to the output's type when that is the
    /// weight's native one.
    TimesPlus,
    /// `(number * scale) * constant`
    TimesTimes(f32),
}

impl Arithmetic {
    /// One number. `step` rounds to the output's type and back.
    #[inline(always)]
    fn of(self, stepwise: bool, number: f32, factor: Factor, step: impl Fn(f32) -> f32) -> f32 {
        let Factor { scale, offset } = factor;
        match self {
            Self::Times => number * scale,
            Self::MinusTimes => (number - offset) * scale,
            Self::TimesPlus if stepwise => step(number * scale) + offset,
            Self::TimesPlus => number * scale + offset,
            Self::TimesTimes(constant) => (number * scale) * constant,
        }
    }
}

/// Consecutive codes that share their factors.
#[derive(Clone, Copy)]
pub(super) struct Segment<'a> {
    /// Bytes that hold them.
    pub bytes: &'a [u8],
    /// Codes in those bytes before the first one.
    pub start: usize,
    /// The factors.
    pub factor: Factor,
    /// Whether the product is rounded to the output's type before anything is added.
    pub stepwise: bool,
}

/// Decodes a run.
pub(super) fn decode<T: Number>(
    level: Level,
    codes: &Codes,
    arithmetic: Arithmetic,
    native: bool,
    run: &Run<'_>,
    out: &mut [T],
) {
    match level.set() {
        // SAFETY: a level is only ever one that the CPU has.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { decode_avx2(codes, arithmetic, native, run, out) },
        _ => segments(run, native, out, |segment, out| define(codes, arithmetic, segment, out)),
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn decode_avx2<T: Number>(
    codes: &Codes,
    arithmetic: Arithmetic,
    native: bool,
    run: &Run<'_>,
    out: &mut [T],
) {
    // SAFETY: the caller saw to the CPU.
    let done = unsafe { fast::groups(codes, arithmetic, native, run, out) };
    let rest = Run { start: run.start + done, factors: &run.factors[done / run.group..], ..*run };
    segments(&rest, native, &mut out[done..], |segment, out| {
        // SAFETY: the caller saw to the CPU.
        let done = unsafe { fast::decode(codes, arithmetic, segment, out) };
        let segment = Segment { start: segment.start + done, ..segment };
        define(codes, arithmetic, segment, &mut out[done..]);
    });
}

/// Cuts a run into segments.
#[inline(always)]
fn segments<T>(
    run: &Run<'_>,
    native: bool,
    out: &mut [T],
    mut each: impl FnMut(Segment<'_>, &mut [T]),
) {
    let (mut place, mut start, mut out) = (run.into, run.start, out);
    while !out.is_empty() {
        let count = (run.group - place % run.group).min(out.len());
        let (now, rest) = out.split_at_mut(count);
        let factor = run.factors[place / run.group];
        each(Segment { bytes: run.codes, start, factor, stepwise: native }, now);
        (place, start, out) = (place + count, start + count, rest);
    }
}

/// The definition: a code at a time.
#[inline(always)]
fn define<T: Number>(codes: &Codes, arithmetic: Arithmetic, segment: Segment<'_>, out: &mut [T]) {
    let Segment { bytes, start, factor, stepwise } = segment;
    for (index, out) in out.iter_mut().enumerate() {
        let code = codes.packing.code(bytes, start + index);
        let number = codes.numbers[usize::from(code)];
        *out = T::narrow(arithmetic.of(stepwise, number, factor, T::step));
    }
}
