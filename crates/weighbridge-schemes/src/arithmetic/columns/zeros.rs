//! Zero points, packed along the outputs, with one row of words per group.

use std::ops::Range;

/// Storage of the zero points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zeros {
    /// A single bit stream, low bits first: zero points cross words.
    Stream {
        /// Bits per zero point.
        bits: u32,
        /// Whether the stored number is one less than the zero point.
        less_one: bool,
    },
    /// Eight per word, in the order of [`INTERLEAVED`].
    Interleaved,
}

/// Nibble of a word in which AWQ stores each of eight consecutive outputs.
pub(super) const INTERLEAVED: [u32; 8] = [0, 4, 1, 5, 2, 6, 3, 7];

impl Zeros {
    fn bits(self) -> u64 {
        match self {
            Self::Stream { bits, .. } => bits.into(),
            Self::Interleaved => 4,
        }
    }

    /// Returns the words that hold the zero points of some outputs.
    pub(crate) fn words(self, outputs: &Range<u64>) -> Range<u64> {
        outputs.start * self.bits() / 32..(outputs.end * self.bits()).div_ceil(32)
    }

    /// Reads the zero points of outputs from `first + row` on, given the words for outputs from
    /// `first` on.
    pub(super) fn fill(self, words: &[u8], first: u64, row: usize, out: &mut [f32]) {
        (row..).zip(out).for_each(|(row, out)| *out = self.zero(words, first, row).into());
    }

    /// Returns the zero point of output `first + row`, given the [`words`](Self::words) for outputs
    /// from `first` on.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // At most eight bits are left of a word.
    pub(super) fn zero(self, words: &[u8], first: u64, row: usize) -> u8 {
        let words = words.as_chunks::<4>().0;
        let word = |index: usize| words.get(index).map_or(0, |word| u32::from_le_bytes(*word));
        match self {
            Self::Interleaved => {
                let at = (first % 8) as usize + row;
                (word(at / 8) >> (4 * INTERLEAVED[at % 8]) & 15) as u8
            }
            Self::Stream { bits, less_one } => {
                let at = (first * u64::from(bits) % 32) as usize + row * bits as usize;
                let mask = (1 << bits) - 1;
                // The writer subtracts one from whole words if fields do not cross them, so a zero
                // point of 0 borrows from its neighbours. Adding one to whole words undoes that.
                let in_words = less_one && 32 % bits == 0;
                let ones = if in_words { u32::MAX / mask } else { 0 };
                let [low, high] = [at / 32, at / 32 + 1].map(|at| word(at).wrapping_add(ones));
                let pair = u64::from(low) | u64::from(high) << 32;
                let field = (pair >> (at % 32)) as u32;
                (field.wrapping_add(u32::from(less_one && !in_words)) & mask) as u8
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_borrowed_one_is_given_back() {
        // Zero points 0, 5, 0, 1, 15, 2, 3, 4, less one from the whole word.
        let points = [0, 5, 0, 1, 15, 2, 3, 4u32];
        let packed = points.iter().rev().fold(0, |word, point| word << 4 | point);
        let stored = packed.wrapping_sub(0x1111_1111).to_le_bytes();
        let zeros = Zeros::Stream { bits: 4, less_one: true };
        let found: Vec<u32> = (0..8).map(|row| zeros.zero(&stored, 0, row).into()).collect();
        assert_eq!(found, points);
        let from_third: Vec<u32> = (0..5).map(|row| zeros.zero(&stored, 3, row).into()).collect();
        assert_eq!(from_third, points[3..]);
    }

    #[test]
    fn three_bits_wrap_each_by_itself() {
        let fields: Vec<u128> = (0..32).map(|i| (i * 5 + i / 8) % 8).collect();
        let stream = fields.iter().rev().fold(0u128, |stream, field| stream << 3 | field);
        let bytes = &stream.to_le_bytes()[..12];
        let zeros = Zeros::Stream { bits: 3, less_one: true };
        for (row, field) in fields.iter().enumerate() {
            assert_eq!(u128::from(zeros.zero(bytes, 0, row)), (field + 1) % 8);
        }
        // Outputs 11.. begin in the second word.
        assert_eq!(zeros.words(&(11..32)), 1..3);
        for row in 0..21 {
            assert_eq!(u128::from(zeros.zero(&bytes[4..], 11, row)), (fields[11 + row] + 1) % 8);
        }
    }
}
