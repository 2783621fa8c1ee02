//! gpt-oss's experts, transposed as in transformers.
//!
//! ```text
//! part 0   blocks  [E, rows, columns / 32, 16]   two codes a byte, the low nibble first
//! part 1   scales  [E, rows, columns / 32]       E8M0
//! result           [E, columns, rows]
//! ```
//!
//! A matrix is decoded in panels. A panel is a few columns of the stored matrix, in whole blocks,
//! which are a few rows of the result.

use std::ops::Range;
use std::sync::Arc;

use super::packed::{rows_of_codes, with_codes};
use crate::arithmetic::length;
use crate::arithmetic::matrix::{self, Arithmetic, Codes, FLOATS4, Factor, Run};
use crate::arithmetic::plain::power_of_two;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::framework::recipe::in_type_of;
use crate::framework::{GroupedCodes, Origins, Recipe};
use crate::number::Out;
use crate::simd::{self, Number, Sides};
use crate::source::{Slab, Staged};

mod origins;

/// Columns per block.
const BLOCK: usize = 32;
/// Bytes per block of codes.
const BYTES: usize = BLOCK / 2;
/// Rows transposed at a time, and blocks of them: their numbers stay in the L2 cache.
const ROWS: usize = 64;
const BLOCKS: usize = 16;

/// Stacked matrices, each stored as `rows` of `columns`.
pub(super) struct Transposed {
    rows: u64,
    columns: u64,
    codes: Codes,
    /// Type that its own library decodes to.
    native: DType,
}

impl Transposed {
    pub(super) fn new(rows: u64, columns: u64, native: DType) -> Self {
        Self { rows, columns, codes: FLOATS4.clone(), native }
    }
}

impl Recipe for Transposed {
    fn is_transposed(&self) -> bool {
        true
    }

    fn codes(&self) -> Result<&dyn GroupedCodes, &'static str> {
        Err("its experts are stacked, and no other layout has stacked experts with these codes")
    }

    fn as_stored(&self) -> Option<Arc<dyn Recipe>> {
        let matrix = rows_of_codes(self.codes.clone(), self.columns, None, self.native);
        Some(Arc::new(with_codes(matrix, &[self.rows, self.columns])))
    }

    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        let groups = self.columns / BLOCK as u64;
        for panel in self.panels(elements) {
            let row = panel.matrix * self.rows + panel.rows.start;
            let count = panel.rows.end - panel.rows.start;
            let across = panel.groups.end - panel.groups.start;
            for (part, width) in [(0, BYTES as u64), (1, 1)] {
                let offset = (row * groups + panel.groups.start) * width;
                let (row_bytes, stride) = (across * width, groups * width);
                slabs.push(Slab { part, offset, row_bytes, count, stride });
            }
        }
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        in_type_of!(out, self.decode_as(staged, elements, out))
    }

    /// Returns whole blocks of all rows, as many as make equal parts of a matrix.
    fn batch(&self, most: u64) -> u64 {
        let (blocks, block) = (self.columns / BLOCK as u64, self.rows * BLOCK as u64);
        match most / block.max(1) {
            0 => (most / self.rows.max(1) * self.rows).max(most.min(self.rows)),
            at_once => blocks.div_ceil(blocks.div_ceil(at_once).max(1)) * block,
        }
    }

    fn origins(&self) -> Option<&dyn Origins> {
        Some(self)
    }
}

/// Some elements of one transposed matrix, and the stored blocks that hold them.
struct Panel {
    matrix: u64,
    /// Counted from the first of the matrix.
    elements: Range<u64>,
    /// Stored rows.
    rows: Range<u64>,
    /// Blocks of each row.
    groups: Range<u64>,
}

impl Transposed {
    /// Returns the elements per matrix.
    fn matrix(&self) -> u64 {
        self.rows * self.columns
    }

    fn panels(&self, elements: Range<u64>) -> impl Iterator<Item = Panel> {
        let (size, rows, block) = (self.matrix().max(1), self.rows.max(1), BLOCK as u64);
        let matrices = elements.start / size..elements.end.div_ceil(size);
        matrices.map(move |matrix| {
            let first = matrix * size;
            let elements =
                elements.start.max(first) - first..elements.end.min(first + size) - first;
            let columns = elements.start / rows..elements.end.div_ceil(rows);
            let rows = match columns.end - columns.start {
                1 => elements.start - columns.start * rows..elements.end - columns.start * rows,
                _ => 0..rows,
            };
            let groups = columns.start / block..columns.end.div_ceil(block);
            Panel { matrix, elements, rows, groups }
        })
    }

    fn decode_as<T: Number>(
        &self,
        staged: &[Staged<'_>],
        elements: Range<u64>,
        out: &mut [T],
    ) -> Result<()> {
        let mut out = out;
        let mut staged = staged.chunks_exact(2);
        for panel in self.panels(elements) {
            let Some(&[blocks, scales]) = staged.next() else {
                return Err(Error::usage("expected MXFP4 blocks and scales"));
            };
            let (now, rest) = out.split_at_mut(length(panel.elements.end - panel.elements.start));
            out = rest;
            let matrix = panel.matrix;
            StagedPanel { of: self, panel, blocks, scales }
                .decode(now)
                .map_err(|(row, group)| invalid_scale(matrix, row, group))?;
        }
        Ok(())
    }
}

/// A panel with its bytes. Errors are the row and the group of an invalid scale.
struct StagedPanel<'a> {
    of: &'a Transposed,
    panel: Panel,
    blocks: Staged<'a>,
    scales: Staged<'a>,
}

impl StagedPanel<'_> {
    fn decode<T: Number>(&self, out: &mut [T]) -> Result<(), (u64, u64)> {
        let (rows, elements) = (self.of.rows, &self.panel.elements);
        // Whole rows of the result; before and after them there may be parts of one.
        let whole = elements.start.div_ceil(rows)..elements.end / rows;
        if whole.is_empty() {
            return self.each(elements.clone(), out);
        }
        let (before, out) = out.split_at_mut(length(whole.start * rows - elements.start));
        let (out, after) = out.split_at_mut(length((whole.end - whole.start) * rows));
        self.each(elements.start..whole.start * rows, before)?;
        self.transpose(&whole, out)?;
        self.each(whole.end * rows..elements.end, after)
    }

    /// Decodes some columns of all rows.
    fn transpose<T: Number>(&self, wanted: &Range<u64>, out: &mut [T]) -> Result<(), (u64, u64)> {
        let (level, rows) = (simd::level(), length(self.of.rows));
        let first = self.panel.groups.start;
        let wanted =
            length(wanted.start - first * BLOCK as u64)..length(wanted.end - first * BLOCK as u64);
        let mut tile = [T::default(); ROWS * BLOCKS * BLOCK];
        for start in (0..rows).step_by(ROWS) {
            let count = ROWS.min(rows - start);
            for group in (wanted.start / BLOCK..wanted.end.div_ceil(BLOCK)).step_by(BLOCKS) {
                let across = BLOCKS.min(wanted.end.div_ceil(BLOCK) - group);
                let columns = across * BLOCK;
                for (row, tile) in (start..start + count).zip(tile.chunks_mut(columns)) {
                    let codes = &self.blocks.row(row)[group * BYTES..(group + across) * BYTES];
                    let mut factors = [Factor::default(); BLOCKS];
                    let factors = &mut factors[..across];
                    powers(&self.scales.row(row)[group..group + across], factors)
                        .map_err(|bad| (row as u64, first + (group + bad) as u64))?;
                    let run = Run { codes, start: 0, factors, group: BLOCK, into: 0 };
                    matrix::decode(level, &self.of.codes, Arithmetic::Times, false, &run, tile);
                }
                let here = wanted.start.max(group * BLOCK)..wanted.end.min(group * BLOCK + columns);
                let out = &mut out[(here.start - wanted.start) * rows + start..];
                let sides = Sides { rows: count, columns: here.len(), from: columns, to: rows };
                simd::transpose(level, sides, &tile[here.start - group * BLOCK..], out);
            }
        }
        Ok(())
    }

    /// Scalar definition, one element at a time.
    fn each<T: Number>(&self, elements: Range<u64>, out: &mut [T]) -> Result<(), (u64, u64)> {
        for (element, out) in elements.zip(out) {
            let (column, row) = (element / self.of.rows, element % self.of.rows);
            let at = length(row - self.panel.rows.start);
            let inside = length(column - self.panel.groups.start * BLOCK as u64);
            let mut factor = [Factor::default()];
            powers(&self.scales.row(at)[inside / BLOCK..][..1], &mut factor)
                .map_err(|_| (row, column / BLOCK as u64))?;
            let code = self.of.codes.packing.code(self.blocks.row(at), inside);
            *out = T::narrow(self.of.codes.numbers[usize::from(code)] * factor[0].scale);
        }
        Ok(())
    }
}

/// Reads the scales of some blocks; an error is the index of an invalid one.
fn powers(scales: &[u8], out: &mut [Factor]) -> Result<(), usize> {
    for (&scale, out) in scales.iter().zip(out) {
        *out = Factor { scale: power_of_two(scale), offset: 0.0 };
    }
    scales.iter().position(|scale| *scale == u8::MAX).map_or(Ok(()), Err)
}

fn invalid_scale(expert: u64, row: u64, group: u64) -> Error {
    Error::malformed(format!("the scale of matrix {expert}, row {row}, group {group} is 255 (NaN)"))
        .hint("scales must be finite: the file is damaged, or its scheme is not the detected one")
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;
    use crate::arithmetic::matrix::E2M1;

    /// The bytes of a slab, as a source hands them out.
    fn stage(slab: &Slab, all: &[u8]) -> Vec<u8> {
        (0..slab.count)
            .flat_map(|row| {
                let start = length(slab.offset + row * slab.stride);
                all[start..start + length(slab.row_bytes)].iter().copied()
            })
            .collect()
    }

    fn decoded<T: Number>(of: &Transposed, parts: [&[u8]; 2], elements: Range<u64>) -> Vec<T> {
        let mut slabs = Vec::new();
        Recipe::needs(of, elements.clone(), &mut slabs);
        let bytes: Vec<_> = slabs.iter().map(|slab| stage(slab, parts[slab.part])).collect();
        let staged: Vec<_> = bytes
            .iter()
            .zip(&slabs)
            .map(|(bytes, slab)| Staged::of_rows(bytes, length(slab.row_bytes)))
            .collect();
        let mut out = vec![T::default(); length(elements.end - elements.start)];
        Recipe::decode(of, &staged, elements, T::out(&mut out)).unwrap();
        out
    }

    /// Any stretch is the same part of the whole, which is what the definition says.
    #[test]
    fn stretches_are_parts_of_the_whole() {
        let (matrices, rows, columns) = (3u64, 70u64, 96u64);
        let of = Transposed::new(rows, columns, DType::BF16);
        let all = matrices * rows * columns;
        let noise = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()[5];
        let blocks: Vec<u8> = (0..all / 2).map(noise).collect();
        let scales: Vec<u8> = (0..all / 32).map(|at| 100 + noise(at) % 50).collect();
        let defined = |element: u64| {
            let (matrix, inside) = (element / (rows * columns), element % (rows * columns));
            let stored = (matrix * rows + inside % rows) * columns + inside / rows;
            let byte = blocks[length(stored / 2)];
            let code = if stored % 2 == 0 { byte & 15 } else { byte >> 4 };
            E2M1[usize::from(code)] * power_of_two(scales[length(stored / 32)])
        };
        let wanted: Vec<f32> = (0..all).map(defined).collect();
        let parts = [&blocks[..], &scales[..]];
        let places =
            [0, 1, 69, 70, 71, 140, 32 * 70, 45 * 70 + 3, 96 * 70, 97 * 70 + 1, all - 5, all];
        for (index, &start) in places.iter().enumerate() {
            for &end in &places[index + 1..] {
                let range = length(start)..length(end);
                assert_eq!(decoded::<f32>(&of, parts, start..end), wanted[range.clone()]);
                let narrow: Vec<_> = wanted[range].iter().map(|x| bf16::from_f32(*x)).collect();
                assert_eq!(decoded::<bf16>(&of, parts, start..end), narrow);
            }
        }
    }

    #[test]
    fn panels_are_equal_parts_of_a_matrix() {
        let panel = |rows, columns, most| Transposed::new(rows, columns, DType::BF16).batch(most);
        // gpt-oss: 90 blocks are 5 times 18.
        assert_eq!(panel(5760, 2880, 4 << 20), 18 * 32 * 5760);
        assert_eq!(panel(64, 64, 4 << 20), 64 * 64);
        // A block of all rows may be too much, and so may one row.
        assert_eq!(panel(200_000, 64, 1 << 20), 5 * 200_000);
        assert_eq!(panel(3 << 20, 64, 1 << 20), 1 << 20);
    }
}
