//! Codes and factors to numbers.
//!
//! The definition takes a code, looks its number up and combines it with its group's factors, a
//! step at a time. It runs over chunks: numbers first, then arithmetic and rounding in loops that
//! are compiled for each level.
#![allow(unsafe_code)] // The functions compiled for AVX2.

use super::codes::Codes;
use super::{Factor, Run};
use crate::simd::{self, Level, Number};

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

/// Codes decoded at a time.
const CHUNK: usize = 512;

/// Decodes a run.
pub(super) fn decode<T: Number>(
    level: Level,
    codes: &Codes,
    arithmetic: Arithmetic,
    native: bool,
    run: &Run<'_>,
    out: &mut [T],
) {
    let mut numbers = [0.0; CHUNK];
    for (chunk, out) in out.chunks_mut(CHUNK).enumerate() {
        let start = chunk * CHUNK;
        let numbers = &mut numbers[..out.len()];
        look_up(level, codes, run.codes, run.start + start, numbers);
        let steps = (native && arithmetic == Arithmetic::TimesPlus).then_some(T::DTYPE);
        combine(level, arithmetic, steps.is_some(), run, start, numbers, T::step);
        simd::narrow(level, numbers, out);
    }
}

/// The number of each code from `start` on.
fn look_up(level: Level, codes: &Codes, bytes: &[u8], start: usize, numbers: &mut [f32]) {
    let table = &*codes.numbers;
    let packing = codes.packing;
    let _ = level;
    for (index, number) in numbers.iter_mut().enumerate() {
        *number = table[usize::from(packing.code(bytes, start + index))];
    }
}

/// Applies each group's factors to its numbers; `start` is their place in the run.
fn combine(
    level: Level,
    arithmetic: Arithmetic,
    stepwise: bool,
    run: &Run<'_>,
    start: usize,
    numbers: &mut [f32],
    step: impl Fn(f32) -> f32 + Copy,
) {
    let mut at = run.into + start;
    let mut numbers = numbers;
    while !numbers.is_empty() {
        let now = (run.group - at % run.group).min(numbers.len());
        let (group, rest) = numbers.split_at_mut(now);
        let Factor { scale, offset } = run.factors[at / run.group];
        match arithmetic {
            Arithmetic::Times => simd::update(level, group, |x| x * scale),
            Arithmetic::MinusTimes => simd::update(level, group, |x| (x - offset) * scale),
            Arithmetic::TimesPlus if stepwise => {
                simd::update(level, group, |x| step(x * scale) + offset);
            }
            Arithmetic::TimesPlus => simd::update(level, group, |x| x * scale + offset),
            Arithmetic::TimesTimes(constant) => {
                simd::update(level, group, |x| (x * scale) * constant);
            }
        }
        numbers = rest;
        at += now;
    }
}
