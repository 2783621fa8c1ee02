//! Converts columns of words to one stream of codes per output.
//!
//! The scalar functions are the definition. If the CPU supports it, eight words of eight columns
//! are transposed in registers. If a word holds eight outputs of one input, the nibbles of eight
//! such words are first exchanged until each word holds eight inputs of one output.

use std::ops::Range;

use super::zeros::INTERLEAVED;
use crate::simd::{Level, kernel};
use crate::source::Staged;

/// Streams built at a time, one per output.
pub(super) const COLUMNS: usize = 64;

/// Words per stream.
pub(super) const WORDS: usize = 64;

/// Packing of codes in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordLayout {
    /// Each column of words is the stream of one output: consecutive inputs, low bits first.
    Inputs,
    /// Each word holds eight outputs of one input, four bits each, in [`INTERLEAVED`] order.
    Outputs,
}

impl WordLayout {
    /// Returns the outputs per word.
    pub(super) fn outputs_a_word(self) -> u64 {
        match self {
            Self::Inputs => 1,
            Self::Outputs => 8,
        }
    }

    /// Returns the columns of words that hold some outputs.
    pub(super) fn words(self, outputs: &Range<u64>) -> Range<u64> {
        outputs.start / self.outputs_a_word()..outputs.end.div_ceil(self.outputs_a_word())
    }

    /// Returns the rows of words that hold all inputs.
    pub(super) fn word_rows(self, inputs: u64, bits: u32) -> u64 {
        match self {
            Self::Inputs => (inputs * u64::from(bits)).div_ceil(32),
            Self::Outputs => inputs,
        }
    }
}

/// Bytes of the streams.
pub(super) type Columns64 = [[u8; 4 * WORDS]; COLUMNS];

/// Streams of codes, one per output.
#[repr(align(64))]
pub(super) struct Streams(Columns64);

impl Streams {
    pub(super) fn new() -> Self {
        Self([[0; 4 * WORDS]; COLUMNS])
    }

    /// Returns the stream of an output.
    pub(super) fn of(&self, column: usize) -> &[u8] {
        &self.0[column]
    }

    /// Fills the streams of some outputs, from a multiple of [`COLUMNS`] on, with the codes of
    /// `inputs`, which begin at a whole word.
    pub(super) fn gather(
        &mut self,
        level: Level,
        word_layout: WordLayout,
        codes: &Staged<'_>,
        columns: &Range<usize>,
        inputs: &Range<usize>,
        bits: usize,
    ) {
        match word_layout {
            WordLayout::Inputs => {
                let rows = inputs.start * bits / 32..(inputs.end * bits).div_ceil(32);
                transpose(level, &mut self.0, codes, columns, rows);
            }
            WordLayout::Outputs => {
                regroup(level, &mut self.0, codes, columns, inputs);
            }
        }
    }
}

kernel! {
    /// Transposes columns of words into streams.
    fn transpose(
        isa; streams: &mut Columns64, codes: &Staged<'_>, columns: &Range<usize>, rows: Range<usize>
    ) -> () {
        let (done_rows, done_columns) =
            isa.turn_words(streams, |row| codes.row(row), columns, &rows);
        for (at, row) in rows.enumerate() {
            let skip = if at < done_rows { done_columns } else { 0 };
            let words = &codes.row(row).as_chunks::<4>().0[columns.clone()];
            for (stream, word) in streams.iter_mut().zip(words).skip(skip) {
                stream.as_chunks_mut().0[at] = *word;
            }
        }
    }
}

kernel! {
    /// Regroups words of eight outputs each into streams.
    fn regroup(
        isa; streams: &mut Columns64, codes: &Staged<'_>, columns: &Range<usize>, inputs: &Range<usize>
    ) -> () {
        let done = isa.turn_nibbles(streams, |row| codes.row(row), columns, inputs, INTERLEAVED);
        for (at, input) in inputs.clone().enumerate().skip(done) {
            let words = &codes.row(input).as_chunks::<4>().0;
            let words = &words[columns.start / 8..columns.end.div_ceil(8)];
            for (streams, word) in streams.chunks_exact_mut(8).zip(words) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every level makes the same streams, whatever is left over at the edges.
    #[test]
    fn levels_agree() {
        let bytes: Vec<u8> =
            (0..70 * 300u32).map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()[1]).collect();
        for (word_layout, bits, words_a_row) in
            [(WordLayout::Inputs, 4, 70), (WordLayout::Inputs, 3, 70), (WordLayout::Outputs, 4, 9)]
        {
            let staged = Staged::of_rows(&bytes, 4 * words_a_row);
            for (first, last) in [(0, 64), (0, 1), (0, 5), (0, 13), (0, 63), (64, 70), (64, 66)] {
                for inputs in [0..512, 0..64, 0..8, 0..75, 32..39, 96..480] {
                    let all = |level| {
                        let mut streams = Streams::new();
                        streams.gather(level, word_layout, &staged, &(first..last), &inputs, bits);
                        let whole = (inputs.len() * bits).div_ceil(8);
                        let of = |column: usize| streams.of(column)[..whole].to_vec();
                        (0..last - first).map(of).collect::<Vec<_>>()
                    };
                    let definition = all(Level::BASELINE);
                    for &level in Level::available() {
                        assert!(
                            all(level) == definition,
                            "{level:?} {word_layout:?} {first} {inputs:?}"
                        );
                    }
                }
            }
        }
    }
}
