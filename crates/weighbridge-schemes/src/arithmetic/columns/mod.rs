//! Packed weights that are stored with their inputs outermost, shared by GPTQ and AWQ.
//!
//! Both store a weight transposed: a row of the result is a column of words in the file.
//!
//! ```text
//! codes    words [in, packed, out] or [in, out, packed]    see `WordLayout`
//! zeros    words [groups, out, packed]
//! scales         [groups, out]
//! g_idx    I32   [in]       the group of each input; absent means input / group size
//! ```
//!
//! So a tile of rows is a strip of columns. It is cut into pieces of 64 outputs and about 512
//! inputs. The words of a piece are turned into one *stream* per output, in which the codes of
//! consecutive inputs are adjacent ([`streams`]). From there on it is a row of codes like any other
//! ([`crate::arithmetic::matrix`]).
//!
//! Recipe: `w[out][in] = scale[g][out] * (code - zero[g][out])`. The difference is a small integer,
//! and its product with a 16-bit scale is exact in f32. So f32 is unrounded, and the native type
//! (that of the scales) is that value rounded once.

use std::cell::Cell;
use std::ops::Range;

use crate::arithmetic::length;
use crate::arithmetic::matrix::{self, Arithmetic, Codes, Factor, Packing, Run, scale_of};
use crate::bounds::Bounds;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::framework::recipe::{in_type_of, rows_of};
use crate::framework::{Extract, GroupedCodes, Kind, Origins, Portion, Recipe, RowRule, Rule};
use crate::number::{Element, Out};
use crate::simd::{self, EightColumns, Number, half_to_f32};
use crate::source::{Slab, Staged};

mod alike;
pub(crate) mod config;
mod grouped;
mod orphan;
mod packing;
mod scattered;
mod sides;
mod streams;
mod zeros;

pub(crate) use alike::Alike;
pub(crate) use orphan::check_orphan;
pub(crate) use packing::ColumnPacker;
use scattered::{EIGHT, Table};
pub(crate) use sides::{Companions, Sides, bid_or_refuse, scale_type};
pub(crate) use streams::WordLayout;
use streams::{COLUMNS, Streams, WORDS};
pub(crate) use zeros::Zeros;

/// A weight of codes, zero points, scales and optionally the group of each input.
pub(crate) struct Columns {
    /// Codes of as many bits as the packing has, each standing for itself.
    pub codes: Codes,
    /// Packing of codes in words.
    pub word_layout: WordLayout,
    /// Inputs: columns of the result.
    pub inputs: u64,
    /// Outputs: rows of the result.
    pub outputs: u64,
    /// Groups of inputs that share scales and zero points.
    pub groups: u64,
    /// Inputs per group, if no part states the groups.
    pub group_size: u64,
    /// Type of the scales.
    pub scale_type: DType,
    /// Storage of the zero points.
    pub zeros: Zeros,
    /// Whether the fourth part states the group of each input.
    pub indexed: bool,
}

/// Returns the limits for weights whose codes were calibrated on sample inputs. Later columns
/// compensate for the errors of earlier ones, so single numbers may be many codes off. The fewer
/// the bits, the more a row may lose.
pub(crate) fn calibrated(bits: u32) -> RowRule {
    let (correlation, row_gain, most) = match bits {
        // Seen: 0.50 and 0.28 to 1.00, over 128 elements up to 1.10.
        0..=2 => (0.3, [0.2, 1.15], 1.3),
        // With zero points and fewer samples than columns: 0.58 and 0.35 to 1.01, otherwise 0.88
        // and 0.80 to 1.07.
        3..=7 => (0.4, [0.25, 1.15], 1.15),
        // Errors are a sixteenth of those of four bits.
        _ => (0.98, [0.97, 1.03], 1.1),
    };
    RowRule {
        wrong_signs: None,
        correlation,
        gain: Some([0.0, most]),
        gain_over: 128,
        row_gain: Some(row_gain),
        sparse_block: 0,
        smallest: 1e-5,
    }
}

/// Returns integer codes of `bits` bits, packed consecutively.
fn plain_codes(bits: u32) -> Codes {
    let packing = match bits {
        4 => Packing::LowNibbles,
        8 => Packing::Bytes,
        bits => Packing::Stream(bits),
    };
    Codes::new(packing, f32::from)
}

impl Recipe for Columns {
    fn has_element_access(&self) -> bool {
        false
    }

    fn is_transposed(&self) -> bool {
        true
    }

    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        let rows = rows_of(&elements, self.inputs);
        for (kind, all) in
            [(Kind::Codes, self.inputs), (Kind::Zeros, self.groups), (Kind::Scales, self.groups)]
        {
            let of = Extract { rows: rows.clone(), across: 0..all };
            GroupedCodes::needs(self, kind, &of, slabs);
        }
        self.needs_for_check(slabs);
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        let [codes, zeros, scales, rest @ ..] = staged else {
            return Err(Error::usage("expected codes, zero points and scales"));
        };
        let groups = rest.first().map(|groups| self.groups_of(groups.bytes())).transpose()?;
        let rows = rows_of(&elements, self.inputs);
        let tile = Tile { of: self, rows, codes, zeros, scales, groups: groups.flatten() };
        in_type_of!(out, tile.decode(out))
    }

    fn origins(&self) -> Option<&dyn Origins> {
        Some(self)
    }

    fn codes(&self) -> Result<&dyn GroupedCodes, &'static str> {
        Ok(self)
    }
}

impl Origins for Columns {
    fn rule(&self) -> Rule {
        Rule::ByRows(calibrated(self.codes.packing.bits()))
    }

    fn bounds(&self, _: &Portion<'_>, _: &[f32], _: &mut [Bounds]) -> Result<()> {
        Err(Error::usage("codes that were chosen together have no bounds"))
    }
}

impl Columns {
    /// Returns the stored group of each input, checked; `None` if inputs are in the default order.
    fn groups_of<'a>(&self, bytes: &'a [u8]) -> Result<Option<&'a [[u8; 4]]>> {
        let stored = bytes.as_chunks::<4>().0;
        let mut consecutive = (0u32..).zip(stored.chunks(length(self.group_size)));
        if consecutive.all(|(group, of)| of.iter().all(|&one| u32::from_le_bytes(one) == group)) {
            return Ok(None);
        }
        let outside = |one: &[u8; 4]| u64::from(u32::from_le_bytes(*one)) >= self.groups;
        match stored.iter().position(outside) {
            None => Ok(Some(stored)),
            Some(input) => Err(Error::malformed(format!(
                "g_idx[{input}] is {}, but there are {} groups",
                i32::from_le_bytes(stored[input]),
                self.groups
            ))),
        }
    }
}

/// Some output rows with the bytes they need.
struct Tile<'a> {
    of: &'a Columns,
    rows: Range<u64>,
    codes: &'a Staged<'a>,
    zeros: &'a Staged<'a>,
    scales: &'a Staged<'a>,
    /// Group of each input, if not the default.
    groups: Option<&'a [[u8; 4]]>,
}

/// Outputs whose factors are computed at a time: enough to use whole cache lines of codes before
/// they are evicted.
const BLOCK: usize = 2 * COLUMNS;

/// A range of inputs that fits the streams, for some outputs.
struct Piece {
    /// The output of the first stream, counted as in `strip`.
    first: usize,
    /// Outputs, counted from the first staged one.
    strip: Range<usize>,
    inputs: Range<usize>,
    /// Outputs that are staged but not requested.
    skip: usize,
    /// Outputs of the block before `strip`.
    before: usize,
}

/// Reads scales of a row from `first` on.
fn scales_of(dtype: DType, bytes: &[u8], first: usize, out: &mut [f32]) {
    let width = dtype.bits() as usize / 8;
    let bytes = &bytes[first * width..(first + out.len()) * width];
    match dtype {
        DType::F16 => {
            simd::map(simd::level(), bytes, out, |x| half_to_f32(u16::from_le_bytes(x)));
        }
        _ => (0..).zip(out).for_each(|(index, out)| *out = scale_of(dtype, bytes, index)),
    }
}

/// Factors of a block of outputs, in the order of use.
#[derive(Default)]
struct FactorBuffers {
    /// All groups of the first output, all groups of the second, ..
    rows: Vec<Factor>,
    /// All outputs of the first group, all outputs of the second, .., for scattered inputs.
    table: Table,
}

thread_local! {
    /// Reused from tile to tile.
    static BUFFERS: Cell<FactorBuffers> = Cell::default();
}

impl Tile<'_> {
    fn decode<T: Number + Element>(&self, out: &mut [T]) -> Result<()> {
        let (mut buffers, mut streams) = (BUFFERS.take(), Streams::new());
        let mut tile = [T::default(); scattered::TILE];
        // The first staged word may begin with outputs that are not requested.
        let skip = length(self.rows.start % self.of.word_layout.outputs_a_word());
        let columns = skip..skip + length(self.rows.end - self.rows.start);
        for first in (0..columns.end).step_by(BLOCK) {
            let block = columns.start.max(first)..columns.end.min(first + BLOCK);
            self.fill(&mut buffers, block.start - skip..block.end - skip)?;
            for inputs in self.stretches() {
                for first in (first..block.end).step_by(COLUMNS) {
                    let strip = block.start.max(first)..block.end.min(first + COLUMNS);
                    let before = strip.start - block.start;
                    let piece = Piece { first, strip, inputs: inputs.clone(), skip, before };
                    match self.groups {
                        Some(groups) => {
                            let kept = (&mut streams, &mut tile[..]);
                            self.scatter(&piece, kept, groups, &buffers.table, out);
                        }
                        None => self.decode_piece(&piece, &mut streams, &buffers.rows, out),
                    }
                }
            }
        }
        BUFFERS.set(buffers);
        Ok(())
    }

    /// Decodes a piece whose inputs belong to arbitrary groups.
    fn scatter<T: Number + Element>(
        &self,
        piece: &Piece,
        (streams, tile): (&mut Streams, &mut [T]),
        groups: &[[u8; 4]],
        table: &Table,
        out: &mut [T],
    ) {
        let Piece { first, strip, inputs, before, .. } = piece;
        let (level, groups, codes) = (simd::level(), &groups[inputs.clone()], &self.of.codes);
        let (words, bits) = (self.codes, codes.packing.bits());
        let mut done = 0;
        while scattered::are_decoded_by_eight(level, self.of) && done + EIGHT <= strip.len() {
            let (column, first) = (strip.start + done, inputs.start / (32 / bits as usize));
            let columns = EightColumns::<_, BLOCK> {
                bits,
                words: move |row| &words.row(first + row)[4 * column..],
                groups,
                factors: table.from(before + done),
            };
            let out = &mut out[self.place(piece, column)..];
            scattered::eight(level, columns, length(self.of.inputs), tile, out);
            done += EIGHT;
        }
        if done == strip.len() {
            return;
        }
        let columns = *first..strip.end;
        streams.gather(level, self.of.word_layout, self.codes, &columns, inputs, bits as usize);
        for (column, output) in strip.clone().zip(*before..).skip(done) {
            let factor = |group: usize| table.of(group, output);
            let out = &mut out[self.place(piece, column)..][..inputs.len()];
            scattered::row(level, codes, streams.of(column - first), groups, factor, out);
        }
    }

    /// Returns the position of a column of a piece in the output.
    fn place(&self, piece: &Piece, column: usize) -> usize {
        (column - piece.skip) * length(self.of.inputs) + piece.inputs.start
    }

    fn decode_piece<T: Number + Element>(
        &self,
        piece: &Piece,
        streams: &mut Streams,
        factors: &[Factor],
        out: &mut [T],
    ) {
        let Piece { first, strip, inputs, before, .. } = piece;
        let (level, groups) = (simd::level(), length(self.of.groups));
        let (factors, group) = (&factors[before * groups..], length(self.of.group_size));
        let bits = self.of.codes.packing.bits() as usize;
        streams.gather(level, self.of.word_layout, self.codes, &(*first..strip.end), inputs, bits);
        for (factors, column) in factors.chunks_exact(groups).zip(strip.clone()) {
            if column + 1 < strip.end {
                simd::prefetch(level, &out[self.place(piece, column + 1)..][..inputs.len()]);
            }
            let out = &mut out[self.place(piece, column)..][..inputs.len()];
            let run = Run {
                codes: streams.of(column - first),
                start: 0,
                factors: &factors[inputs.start / group..],
                group,
                into: inputs.start % group,
            };
            matrix::decode(level, &self.of.codes, Arithmetic::MinusTimes, false, &run, out);
        }
    }

    /// Returns all inputs, in pieces as long as a stream.
    fn stretches(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let inputs = length(self.of.inputs);
        // A multiple of 32 codes ends at a word boundary for any width.
        let step = WORDS * 32 / self.of.codes.packing.bits() as usize / 32 * 32;
        (0..inputs).step_by(step).map(move |at| at..inputs.min(at + step))
    }

    /// Computes the factors of some rows, in the order of use.
    fn fill(&self, buffers: &mut FactorBuffers, rows: Range<usize>) -> Result<()> {
        let groups = length(self.of.groups);
        buffers.table.clear();
        buffers.rows.clear();
        buffers.rows.resize(rows.len() * groups, Factor::default());
        let (mut scales, mut zeros) = ([0.0; BLOCK], [0.0; BLOCK]);
        let (scales, zeros) = (&mut scales[..rows.len()], &mut zeros[..rows.len()]);
        for group in 0..groups {
            scales_of(self.of.scale_type, self.scales.row(group), rows.start, scales);
            if let Some(bad) = scales.iter().position(|scale| !scale.is_finite()) {
                let row = self.rows.start + (rows.start + bad) as u64;
                return Err(matrix::not_finite(scales[bad], row, group as u64));
            }
            self.of.zeros.fill(self.zeros.row(group), self.rows.start, rows.start, zeros);
            if self.groups.is_some() {
                buffers.table.push(scales, zeros);
                continue;
            }
            let places = buffers.rows[group..].iter_mut().step_by(groups);
            for ((factor, &scale), &offset) in places.zip(&*scales).zip(&*zeros) {
                *factor = Factor { scale, offset };
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod outcome;
#[cfg(test)]
mod tests;
