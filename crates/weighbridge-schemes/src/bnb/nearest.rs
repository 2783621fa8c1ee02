//! Codes of four bits: for each number of a block the code whose level is nearest.
//!
//! As bitsandbytes 0.50.2 does in its torch code, which is its default and what runs on a CPU:
//! numbers are flat, a block is 64 of them, and its `absmax` is the largest magnitude. Numbers times
//! `1 / max(absmax, 1e-38)` are compared with the middles between neighbouring levels; what lies on
//! a middle goes down. A last block that is not whole divides by `max(absmax, 1e-38)` instead, and
//! stores that. FP4 has zero twice: what is above zero, but nearest to it, has code 8, and
//! what is not above it code 0.

use std::marker::PhantomData;

use super::four::{FP4, NF4};
use crate::arithmetic::magnitude::largest_magnitude;
use crate::simd::{self, Isa, Level, Task};

/// Numbers of a block.
pub(super) const BLOCK: usize = 64;

/// What a block of zeros is divided by.
const LEAST: f32 = 1e-38;

/// The levels of a kind of codes.
pub(super) trait Levels {
    /// What each code stands for, as the library stores it.
    const MAP: [f32; 16];

    /// The codes in the order of their levels.
    const ORDER: [u8; 16];
}

/// Quantiles of a normal distribution.
pub(super) struct Nf4;

/// Floating-point numbers of four bits.
pub(super) struct Fp4;

impl Levels for Nf4 {
    const MAP: [f32; 16] = NF4;
    const ORDER: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
}

impl Levels for Fp4 {
    const MAP: [f32; 16] = with_negatives();
    const ORDER: [u8; 16] = [11, 10, 13, 12, 15, 14, 9, 0, 8, 1, 6, 7, 4, 5, 2, 3];
}

/// FP4's levels, with a second zero that is positive too.
const fn with_negatives() -> [f32; 16] {
    let mut map = [0.0; 16];
    let mut code = 1;
    while code < 8 {
        (map[code], map[code + 8]) = (FP4[code], -FP4[code]);
        code += 1;
    }
    map
}

/// The middles between neighbouring levels, and what a number above one adds to its code.
const fn steps<L: Levels>() -> [(f32, i32); 15] {
    let (mut steps, mut at) = ([(0.0, 0); 15], 0);
    while at < 15 {
        let (low, high) = (L::ORDER[at], L::ORDER[at + 1]);
        let middle = (L::MAP[low as usize] + L::MAP[high as usize]) / 2.0;
        steps[at] = (middle, high as i32 - low as i32);
        at += 1;
    }
    steps
}

/// The code of a number that was scaled to between -1 and 1.
#[inline(always)]
fn code<L: Levels>(scaled: f32) -> i32 {
    let mut code = i32::from(L::ORDER[0]);
    for (middle, step) in const { steps::<L>() } {
        // NaN is above all middles, as in the library's torch code.
        #[allow(clippy::neg_cmp_op_on_partial_ord)]
        let is_above = !(scaled <= middle);
        code += if is_above { step } else { 0 };
    }
    code
}

/// What a block is divided by. torch's `clamp` keeps NaN.
#[inline(always)]
fn at_least(absmax: f32) -> f32 {
    if absmax.is_nan() { absmax } else { absmax.max(LEAST) }
}

/// The codes of a whole block, the first of two in the high half.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Codes have four bits.
fn whole_block<L: Levels>(values: &[f32; BLOCK], out: &mut [u8; BLOCK / 2]) -> f32 {
    let absmax = largest_magnitude(values);
    let factor = 1.0 / at_least(absmax);
    // One step after the other, so that each is compiled into vectors.
    let mut codes = [0; BLOCK];
    codes.iter_mut().zip(values).for_each(|(code_of, value)| *code_of = code::<L>(value * factor));
    let mut bytes = [0; BLOCK];
    bytes.iter_mut().zip(&codes).for_each(|(byte, code)| *byte = *code as u8);
    let pairs = bytes.as_chunks::<2>().0;
    out.iter_mut().zip(pairs).for_each(|(out, [high, low])| *out = high << 4 | low);
    absmax
}

/// The codes of a last block that is not whole.
fn part_of_a_block<L: Levels>(values: &[f32], out: &mut [u8]) -> f32 {
    let absmax = at_least(largest_magnitude(values));
    for (pair, out) in values.chunks(2).zip(out) {
        let code_at = |at: usize| code::<L>(pair.get(at).map_or(0.0, |value| value / absmax));
        *out = (code_at(0) << 4 | code_at(1)).to_le_bytes()[0];
    }
    absmax
}

/// Encodes numbers from the start of a block on: `codes` takes two in a byte, `absmax` one number
/// for each block.
pub(super) fn encode<L: Levels>(
    level: Level,
    values: &[f32],
    codes: &mut [u8],
    absmax: &mut [f32],
) {
    let (blocks, rest) = values.as_chunks();
    let (whole, codes_rest) = codes.as_chunks_mut();
    let task = Encode::<L> { blocks, codes: whole, absmax, of: PhantomData };
    simd::run(level, task);
    if let (false, Some(last)) = (rest.is_empty(), absmax.get_mut(blocks.len())) {
        // A last block of 63 numbers has as many bytes as a whole one.
        let codes = if codes_rest.is_empty() {
            whole.last_mut().map_or(&mut [][..], |last| &mut last[..])
        } else {
            codes_rest
        };
        *last = part_of_a_block::<L>(rest, codes);
    }
}

/// The largest magnitude of every block, as [`encode`] gives it.
pub(super) fn absmax(level: Level, values: &[f32], out: &mut Vec<f32>) {
    simd::run(level, Largest { values, out });
}

/// Whole blocks that are to be encoded.
struct Encode<'a, L> {
    blocks: &'a [[f32; BLOCK]],
    codes: &'a mut [[u8; BLOCK / 2]],
    absmax: &'a mut [f32],
    of: PhantomData<L>,
}

impl<L: Levels> Task for Encode<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let outs = self.codes.iter_mut().zip(self.absmax);
        for (block, (codes, absmax)) in self.blocks.iter().zip(outs) {
            *absmax = whole_block::<L>(block, codes);
        }
    }
}

/// Blocks whose largest magnitudes are wanted.
struct Largest<'a> {
    values: &'a [f32],
    out: &'a mut Vec<f32>,
}

impl Task for Largest<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let (blocks, rest) = self.values.as_chunks::<BLOCK>();
        self.out.extend(blocks.iter().map(|block| largest_magnitude(block)));
        if !rest.is_empty() {
            let largest = largest_magnitude(rest);
            self.out.push(if largest.is_nan() { largest } else { largest.max(LEAST) });
        }
    }
}
