//! Decodes inputs that belong to arbitrary groups, as act-order leaves them.
//!
//! In the stored order, outputs are adjacent, and so are the factors of an input's group. So
//! numbers are computed in that order, eight outputs at a time, and transposed afterwards.

use super::streams::{WORDS, WordLayout};
use super::{BLOCK, Columns, length};
use crate::arithmetic::matrix::{Codes, Factor};
use crate::simd::{self, EightColumns, Level, Number, Sides};

/// Outputs that are decoded side by side.
pub(super) const EIGHT: usize = simd::EIGHT;

/// Numbers buffered before transposing: eight outputs, each with as many inputs as a stream has
/// two-bit codes.
pub(super) const TILE: usize = EIGHT * WORDS * 16;

/// Factors of up to [`BLOCK`] outputs, one row per group.
#[derive(Default)]
pub(super) struct Table {
    scales: Vec<f32>,
    zeros: Vec<f32>,
}

impl Table {
    pub(super) fn clear(&mut self) {
        self.scales.clear();
        self.zeros.clear();
    }

    /// Adds the next group.
    pub(super) fn push(&mut self, scales: &[f32], zeros: &[f32]) {
        let padding = std::iter::repeat_n(0.0, BLOCK - scales.len());
        self.scales.extend(scales.iter().copied().chain(padding.clone()));
        self.zeros.extend(zeros.iter().copied().chain(padding));
    }

    /// Returns the factors of an output, counted from the first of the block.
    pub(super) fn of(&self, group: usize, output: usize) -> Factor {
        let at = group * BLOCK + output;
        Factor { scale: self.scales[at], offset: self.zeros[at] }
    }

    /// Returns rows of factors from an output on: scales and zero points, [`BLOCK`] apart from
    /// group to group.
    pub(super) fn from(&self, output: usize) -> [&[f32]; 2] {
        [&self.scales[output..], &self.zeros[output..]]
    }
}

/// Whether eight outputs are decoded side by side: at the baseline, one at a time is faster.
pub(super) fn are_decoded_by_eight(level: Level, of: &Columns) -> bool {
    level > Level::BASELINE
        && of.word_layout == WordLayout::Inputs
        && 32 % of.codes.packing.bits() == 0
}

/// Decodes some inputs of eight outputs into rows of `out`, `stride` apart, with `tile` as a
/// buffer.
pub(super) fn eight<'a, T: Number>(
    level: Level,
    columns: EightColumns<'a, impl Fn(usize) -> &'a [u8], BLOCK>,
    stride: usize,
    tile: &mut [T],
    out: &mut [T],
) {
    let rows = columns.groups.len();
    (0..EIGHT).for_each(|row| simd::prefetch(level, &out[row * stride..][..rows]));
    simd::decode_eight_columns(level, columns, &mut tile[..EIGHT * rows]);
    let sides = Sides { rows, columns: EIGHT, from: EIGHT, to: stride };
    simd::transpose(level, sides, tile, out);
}

/// Scalar definition for one output; `factor` returns the factors of a group.
pub(super) fn row<T: Number>(
    level: Level,
    codes: &Codes,
    stream: &[u8],
    groups: &[[u8; 4]],
    factor: impl Fn(usize) -> Factor,
    out: &mut [T],
) {
    const CHUNK: usize = 256;
    let mut numbers = [0.0; CHUNK];
    for ((out, groups), first) in
        out.chunks_mut(CHUNK).zip(groups.chunks(CHUNK)).zip((0..).step_by(CHUNK))
    {
        let numbers = &mut numbers[..out.len()];
        for (index, (number, group)) in numbers.iter_mut().zip(groups).enumerate() {
            let Factor { scale, offset } = factor(length(u32::from_le_bytes(*group).into()));
            let code = codes.packing.code(stream, first + index);
            *number = (codes.numbers[usize::from(code)] - offset) * scale;
        }
        simd::narrow(level, numbers, out);
    }
}
