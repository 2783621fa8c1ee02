//! Packs the codes of another scheme into tensors with inputs outermost.
//!
//! Elements are counted column by column of the weight: all outputs of the first input, all outputs
//! of the second, .. A piece of whole groups of inputs is then a piece of every tensor. If there is
//! a single group, its tensors are written once.

use super::zeros::INTERLEAVED;
use super::{WordLayout, Zeros, length};
use crate::dtype::DType;
use crate::error::Result;
use crate::framework::{
    CodeNumbers, CodedWeight, EncodedTensor, GroupedForm, Groups, Order, PackedWeight, Packer,
    Panel,
};

use std::sync::Arc;

/// Packs codes in columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnPacker {
    /// Form of the codes.
    pub form: GroupedForm,
    /// Packing of codes in words.
    pub word_layout: WordLayout,
    /// Storage of the zero points.
    pub zeros: Zeros,
    /// Whether a tensor states the group of each input.
    pub indexed: bool,
}

impl ColumnPacker {
    /// Returns the tensors that a weight becomes, or why it does not fit.
    pub(crate) fn packed(self, weight: &CodedWeight<'_>) -> Result<PackedWeight, String> {
        let form = &self.form;
        let module =
            weight.name.strip_suffix(".weight").ok_or("its name does not end in `.weight`")?;
        if !matches!(form.numbers, CodeNumbers::Integers { .. }) {
            return Err("its codes are floats, but this layout stores integers".to_owned());
        }
        let (rows, columns, groups) = (form.rows, form.columns, form.groups());
        if !rows.is_multiple_of(form.codes_a_word()) {
            return Err(format!("its {rows} rows do not fill whole words of zero points"));
        }
        let words = rows / form.codes_a_word();
        let each = |elements: u64, bytes: u64| Groups::Of { elements, bytes };
        let of_group = |bytes: u64| match groups {
            1 => Groups::Once,
            _ => each(form.group * rows, bytes),
        };
        let tensor = |end: &str, dtype: DType, sides: &[u64], groups: Groups| {
            EncodedTensor::of(format!("{module}.{end}"), dtype, sides, groups)
        };
        let (code_sides, codes) = match self.word_layout {
            WordLayout::Inputs => {
                let per_word = form.codes_a_word();
                ([columns / per_word, rows], each(per_word * rows, rows * 4))
            }
            WordLayout::Outputs => ([columns, words], each(rows, words * 4)),
        };
        let mut tensors = vec![
            tensor("qweight", DType::I32, &code_sides, codes),
            tensor("qzeros", DType::I32, &[groups, words], of_group(words * 4)),
            tensor("scales", form.scale, &[groups, rows], of_group(rows * form.scale_bytes())),
        ];
        if self.indexed {
            tensors.push(tensor("g_idx", DType::I32, &[columns], each(rows, 4)));
        }
        Ok(PackedWeight { form: *form, tensors, packer: Arc::new(self) })
    }

    fn pack_codes(&self, panel: &Panel<'_>, out: &mut [u8]) {
        let [rows, across] = panel.codes_of.sides();
        let bits = self.form.bits();
        let code = |row: usize, column: usize| u32::from(panel.codes[row * across + column]);
        let words = out.as_chunks_mut::<4>().0;
        match self.word_layout {
            WordLayout::Inputs => {
                let per_word = length(self.form.codes_a_word());
                for (line, words) in words.chunks_exact_mut(rows).enumerate() {
                    for (row, word) in words.iter_mut().enumerate() {
                        let codes = (0..per_word).map(|at| code(row, line * per_word + at));
                        *word = word_of(codes, bits).to_le_bytes();
                    }
                }
            }
            WordLayout::Outputs => {
                for (column, words) in words.chunks_exact_mut(rows / 8).enumerate() {
                    for (at, word) in words.iter_mut().enumerate() {
                        let codes = (0..8).map(|row| code(at * 8 + row, column));
                        *word = interleaved(codes).to_le_bytes();
                    }
                }
            }
        }
    }

    fn pack_zeros(&self, panel: &Panel<'_>, out: &mut [u8]) {
        let [rows, groups] = panel.factors_of.sides();
        let per_word = length(self.form.codes_a_word());
        let zero = |row: usize, group: usize| u32::from(panel.zeros[row * groups + group]);
        let lines = out.as_chunks_mut::<4>().0.chunks_exact_mut(rows / per_word);
        for (group, words) in lines.enumerate() {
            for (at, word) in words.iter_mut().enumerate() {
                let points = (0..per_word).map(|row| zero(at * per_word + row, group));
                *word = match self.zeros {
                    Zeros::Interleaved => interleaved(points),
                    Zeros::Stream { bits, less_one } => {
                        // No zero point is 0, so nothing is borrowed.
                        let ones = if less_one { u32::MAX / (u32::MAX >> (32 - bits)) } else { 0 };
                        word_of(points, bits).wrapping_sub(ones)
                    }
                }
                .to_le_bytes();
            }
        }
    }

    fn pack_scales(&self, panel: &Panel<'_>, out: &mut [u8]) {
        let [rows, groups] = panel.factors_of.sides();
        let width = length(self.form.scale_bytes());
        for (at, out) in out.chunks_exact_mut(width).enumerate() {
            let from = (at % rows * groups + at / rows) * width;
            out.copy_from_slice(&panel.scales[from..from + width]);
        }
    }
}

/// Packs codes in a word, the first in the low bits.
fn word_of(codes: impl Iterator<Item = u32>, bits: u32) -> u32 {
    (0..).zip(codes).fold(0, |word, (at, code)| word | code << (bits * at))
}

/// Packs eight codes in a word, in the order of [`INTERLEAVED`].
fn interleaved(codes: impl Iterator<Item = u32>) -> u32 {
    INTERLEAVED.iter().zip(codes).fold(0, |word, (at, code)| word | code << (4 * at))
}

impl Packer for ColumnPacker {
    fn order(&self) -> Order {
        Order::Columns
    }

    fn unit(&self) -> u64 {
        match (self.form.groups(), self.word_layout) {
            (2.., _) => self.form.group,
            (_, WordLayout::Inputs) => self.form.codes_a_word(),
            (_, WordLayout::Outputs) => 1,
        }
    }

    fn pack(&self, panel: &Panel<'_>, out: &mut [&mut [u8]]) -> Result<()> {
        let [codes, zeros, scales, rest @ ..] = out else { return Ok(()) };
        self.pack_codes(panel, codes);
        // Tensors that are written once come with the first piece.
        self.pack_zeros(panel, zeros);
        self.pack_scales(panel, scales);
        if let [index, ..] = rest {
            let columns = panel.codes_of.across.clone();
            for (column, out) in columns.zip(index.as_chunks_mut::<4>().0) {
                let group = u32::try_from(column / self.form.group.max(1)).unwrap_or(u32::MAX);
                *out = group.to_le_bytes();
            }
        }
        Ok(())
    }
}
