//! Exposes the codes of weights that are stored with inputs outermost.

use super::{Columns, WordLayout, length};
use crate::arithmetic::first;
use crate::error::Result;
use crate::framework::{Extract, GroupedCodes, GroupedForm, Kind, Taker};
use crate::source::{Slab, Staged};

use super::zeros::INTERLEAVED;

impl GroupedCodes for Columns {
    fn form(&self, _: Taker) -> Result<GroupedForm, String> {
        // A single group stays one, even if the settings state a larger size.
        let group = if self.groups == 1 { self.inputs } else { self.group_size };
        let codes = (self.codes.packing.bits(), true);
        GroupedForm::of_integers(codes, [self.outputs, self.inputs, group], self.scale_type)
    }

    fn needs_for_check(&self, slabs: &mut Vec<Slab>) {
        if self.indexed {
            slabs.push(Slab::whole(3, 0, self.inputs * 4));
        }
    }

    fn check(&self, staged: &[Staged<'_>]) -> Result<(), String> {
        let Some(listed) = staged.first() else { return Ok(()) };
        match self.groups_of(listed.bytes()) {
            Ok(None) => Ok(()),
            Ok(Some(_)) => {
                Err("it uses act-order groups, which other layouts cannot store".to_owned())
            }
            Err(error) => Err(error.message().to_owned()),
        }
    }

    fn needs(&self, kind: Kind, of: &Extract, slabs: &mut Vec<Slab>) {
        let Extract { rows, across } = of;
        let all = 0..self.outputs;
        let bits = self.codes.packing.bits();
        // The part, words or scales of a stored row, all of one, bytes of each, stored rows.
        let (part, wanted, every, width, lines) = match kind {
            Kind::Codes => {
                let layout = self.word_layout;
                let lines =
                    layout.word_rows(across.start, bits)..layout.word_rows(across.end, bits);
                (0, layout.words(rows), layout.words(&all).end, 4, lines)
            }
            Kind::Zeros => {
                (1, self.zeros.words(rows), self.zeros.words(&all).end, 4, across.clone())
            }
            Kind::Scales => {
                let width = u64::from(self.scale_type.bits() / 8);
                (2, rows.clone(), self.outputs, width, across.clone())
            }
        };
        slabs.push(Slab {
            part,
            offset: (lines.start * every + wanted.start) * width,
            row_bytes: (wanted.end - wanted.start) * width,
            count: lines.end - lines.start,
            stride: every * width,
        });
    }

    fn read(&self, kind: Kind, of: &Extract, staged: &[Staged<'_>], out: &mut [u8]) -> Result<()> {
        let staged = first(staged)?;
        let [rows, across] = of.sides();
        match kind {
            Kind::Codes => self.read_codes(of, &staged, out),
            Kind::Zeros => {
                for (group, row) in pairs(across, rows) {
                    let zero = self.zeros.zero(staged.row(group), of.rows.start, row);
                    put(out, row * across + group, &[zero]);
                }
            }
            Kind::Scales => {
                let width = self.scale_type.bits() as usize / 8;
                for (group, row) in pairs(across, rows) {
                    let scale = staged.row(group).get(row * width..(row + 1) * width);
                    put(out, (row * across + group) * width, scale.unwrap_or_default());
                }
            }
        }
        Ok(())
    }
}

impl Columns {
    fn read_codes(&self, of: &Extract, staged: &Staged<'_>, out: &mut [u8]) {
        let bits = self.codes.packing.bits();
        let [rows, across] = of.sides();
        let mask = u32::MAX >> (32 - bits);
        let code = |word: u32, index: u32| (word >> (bits * index) & mask).to_le_bytes()[0];
        match self.word_layout {
            WordLayout::Inputs => {
                let per_word = 32 / bits;
                let each = per_word as usize;
                for line in 0..across / each {
                    let words = staged.row(line).as_chunks::<4>().0;
                    let places = out.chunks_exact_mut(across).take(rows);
                    for (word, row) in words.iter().zip(places) {
                        let word = u32::from_le_bytes(*word);
                        let codes = &mut row[line * each..(line + 1) * each];
                        (0..).zip(codes).for_each(|(index, out)| *out = code(word, index));
                    }
                }
            }
            WordLayout::Outputs => {
                // The first staged word may begin with outputs that are not wanted.
                let skip = length(of.rows.start % self.word_layout.outputs_a_word());
                for line in 0..across {
                    let words = staged.row(line).as_chunks::<4>().0;
                    for (row, at) in (skip..skip + rows).enumerate() {
                        let word = words.get(at / 8).map_or(0, |word| u32::from_le_bytes(*word));
                        put(out, row * across + line, &[code(word, INTERLEAVED[at % 8])]);
                    }
                }
            }
        }
    }
}

/// Returns every pair of numbers below two limits, the second varying faster.
fn pairs(outer: usize, inner: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..outer).flat_map(move |outer| (0..inner).map(move |inner| (outer, inner)))
}

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(out) = out.get_mut(at..at + bytes.len()) {
        out.copy_from_slice(bytes);
    }
}
