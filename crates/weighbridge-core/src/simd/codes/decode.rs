//! Codes and factors to numbers.
//!
//! The definition takes a code, looks up its number and combines it with its group's factors, a
//! step at a time. The common kinds of codes have forms for AVX2, which decode whole groups and
//! as much of a segment as fills whole vectors; the definition decodes the rest.

use super::{CodeKind, Codes};
use crate::simd::{Level, Number};

/// The factors of one group of codes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Factor {
    /// The number is multiplied by this.
    pub scale: f32,
    /// A zero point or an addend; see [`Arithmetic`].
    pub offset: f32,
}

/// Consecutive codes of one matrix row, with the factors of their groups.
pub struct Run<'a> {
    /// Bytes that hold the codes.
    pub codes: &'a [u8],
    /// Codes in those bytes before the first one.
    pub start: usize,
    /// Factors, one for each group.
    pub factors: &'a [Factor],
    /// Codes in a group.
    pub group: usize,
    /// Codes of the first group that come before the run.
    pub into: usize,
}

/// How a code's number and its group's factors are combined. Every step is rounded to f32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arithmetic {
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

/// How codes become numbers.
#[derive(Clone, Copy)]
pub struct Rule<'a> {
    /// The codes and what they stand for.
    pub codes: &'a Codes,
    /// How their numbers and the factors are combined.
    pub arithmetic: Arithmetic,
    /// Whether the product is rounded to the output's type before anything is added.
    pub stepwise: bool,
}

/// Consecutive codes that share their factors.
#[derive(Clone, Copy)]
pub struct Segment<'a> {
    /// Bytes that hold them.
    pub bytes: &'a [u8],
    /// Codes in those bytes before the first one.
    pub start: usize,
    /// The factors.
    pub factor: Factor,
}

/// Decodes a run. `native` says that the output has the weight's native type, so that
/// [`Arithmetic::TimesPlus`] rounds its product too.
pub fn decode<T: Number>(
    level: Level,
    codes: &Codes,
    arithmetic: Arithmetic,
    native: bool,
    run: &Run<'_>,
    out: &mut [T],
) {
    decode_by(level, Rule { codes, arithmetic, stepwise: native }, run, out);
}

kernel! {
    /// What the set leaves over is decoded by the definition.
    fn decode_by[T: Number](isa; rule: Rule<'_>, run: &Run<'_>, out: &mut [T]) -> () {
        let is_other = rule.codes.kind == CodeKind::Other;
        let done = if is_other { 0 } else { isa.code_groups(rule, run, out) };
        let factors = &run.factors[done / run.group..];
        let rest = Run { start: run.start + done, factors, ..*run };
        segments(&rest, &mut out[done..], |segment, out| {
            let done = if is_other { 0 } else { isa.code_segment(rule, segment, out) };
            let segment = Segment { start: segment.start + done, ..segment };
            define(rule, segment, &mut out[done..]);
        });
    }
}

/// Cuts a run into segments.
#[inline(always)]
fn segments<T>(run: &Run<'_>, out: &mut [T], mut each: impl FnMut(Segment<'_>, &mut [T])) {
    let (mut place, mut start, mut out) = (run.into, run.start, out);
    while !out.is_empty() {
        let count = (run.group - place % run.group).min(out.len());
        let (now, rest) = out.split_at_mut(count);
        let factor = run.factors[place / run.group];
        each(Segment { bytes: run.codes, start, factor }, now);
        (place, start, out) = (place + count, start + count, rest);
    }
}

/// The definition: one code at a time.
#[inline(always)]
fn define<T: Number>(rule: Rule<'_>, segment: Segment<'_>, out: &mut [T]) {
    let Rule { codes, arithmetic, stepwise } = rule;
    let Segment { bytes, start, factor } = segment;
    for (index, out) in out.iter_mut().enumerate() {
        let code = codes.packing.code(bytes, start + index);
        let number = codes.numbers[usize::from(code)];
        *out = T::narrow(arithmetic.of(stepwise, number, factor, T::step));
    }
}
