//! From columns of words to one stream of codes for each output.
//!
//! The scalar functions are the definition. With AVX2, eight words of eight columns are
//! transposed in registers; where a word holds eight outputs of one input, the nibbles of eight
//! such words are first exchanged until each word holds eight inputs of one output.
#![allow(unsafe_code)] // The AVX2 forms; each is reached only where the CPU has that level.

use std::ops::Range;

use super::zeros::INTERLEAVED;
use crate::simd::Level;
use crate::source::Staged;

/// Outputs whose streams are made at a time.
pub(super) const COLUMNS: usize = 64;

/// Words of a stream.
pub(super) const WORDS: usize = 64;

/// How words hold codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lay {
    /// Each column of words is the stream of one output: consecutive inputs, low bits first.
    Inputs,
    /// Each word holds eight outputs of one input, four bits each, in [`INTERLEAVED`] order.
    Outputs,
}

impl Lay {
    /// Outputs that share a word.
    pub(super) fn outputs_a_word(self) -> u64 {
        match self {
            Self::Inputs => 1,
            Self::Outputs => 8,
        }
    }

    /// The columns of words that hold some outputs.
    pub(super) fn words(self, outputs: &Range<u64>) -> Range<u64> {
        outputs.start / self.outputs_a_word()..outputs.end.div_ceil(self.outputs_a_word())
    }

    /// Rows of words that hold all inputs.
    pub(super) fn word_rows(self, inputs: u64, bits: u32) -> u64 {
        match self {
            Self::Inputs => (inputs * u64::from(bits)).div_ceil(32),
            Self::Outputs => inputs,
        }
    }
}

/// A stream of codes for each of some outputs.
#[repr(align(64))]
pub(super) struct Streams([[u8; 4 * WORDS]; COLUMNS]);

impl Streams {
    pub(super) fn new() -> Self {
        Self([[0; 4 * WORDS]; COLUMNS])
    }

    /// The stream of an output.
    pub(super) fn of(&self, column: usize) -> &[u8] {
        &self.0[column]
    }

    /// Fills the streams of the outputs `strip`, of which `first` (a multiple of [`COLUMNS`])
    /// has the first stream, with the codes of `inputs`, which begin at a whole word.
    pub(super) fn gather(
        &mut self,
        level: Level,
        lay: Lay,
        codes: &Staged<'_>,
        first: usize,
        strip: &Range<usize>,
        inputs: &Range<usize>,
        bits: usize,
    ) {
        let columns = first..strip.end;
        match lay {
            Lay::Inputs => {
                let rows = inputs.start * bits / 32..(inputs.end * bits).div_ceil(32);
                self.transpose(level, codes, &columns, &rows);
            }
            Lay::Outputs => self.regroup(level, codes, &columns, inputs),
        }
    }

    fn transpose(
        &mut self,
        _level: Level,
        codes: &Staged<'_>,
        columns: &Range<usize>,
        rows: &Range<usize>,
    ) {
        for (at, row) in rows.clone().enumerate() {
            let words = &codes.row(row).as_chunks::<4>().0[columns.clone()];
            for (stream, word) in self.0.iter_mut().zip(words) {
                stream.as_chunks_mut().0[at] = *word;
            }
        }
    }

    fn regroup(
        &mut self,
        _level: Level,
        codes: &Staged<'_>,
        columns: &Range<usize>,
        inputs: &Range<usize>,
    ) {
        for (at, input) in inputs.clone().enumerate() {
            let words = &codes.row(input).as_chunks::<4>().0;
            let words = &words[columns.start / 8..columns.end.div_ceil(8)];
            for (streams, word) in self.0.chunks_exact_mut(8).zip(words) {
                let word = u32::from_le_bytes(*word);
                for (stream, nibble) in streams.iter_mut().zip(INTERLEAVED) {
                    put(stream, at, (word >> (4 * nibble) & 15) as u8);
                }
            }
        }
    }
}

/// Writes nibble `at` of a stream; nibbles are written in order.
fn put(stream: &mut [u8], at: usize, nibble: u8) {
    match at % 2 {
        0 => stream[at / 2] = nibble,
        _ => stream[at / 2] |= nibble << 4,
    }
}
