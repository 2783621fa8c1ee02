//! gpt-oss's experts, turned as transformers turns them.
//!
//! ```text
//! part 0   blocks  [E, rows, columns / 32, 16]   two codes a byte, the low nibble first
//! part 1   scales  [E, rows, columns / 32]       E8M0
//! result           [E, columns, rows]
//! ```

use std::ops::Range;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::schemes::matrix::{E2M1, scale_of};
use crate::schemes::{Out, Recipe};
use crate::simd::{self, Number};
use crate::source::{Slab, Staged};

/// Columns of a block.
const BLOCK: usize = 32;
/// Bytes of a block's codes.
const BYTES: usize = BLOCK / 2;
/// Rows turned at a time: their numbers stay in the first cache.
const ROWS: usize = 64;

/// Stacked matrices, each stored as `rows` of `columns`.
pub(super) struct Transposed {
    pub(super) rows: u64,
    pub(super) columns: u64,
}

impl Recipe for Transposed {
    fn needs(&self, experts: Range<u64>, slabs: &mut Vec<Slab>) {
        let elements = self.rows * self.columns;
        let count = experts.end - experts.start;
        slabs.push(Slab::whole(0, experts.start * elements / 2, count * elements / 2));
        let scales = elements / BLOCK as u64;
        slabs.push(Slab::whole(1, experts.start * scales, count * scales));
    }

    fn decode(&self, staged: &[Staged<'_>], experts: Range<u64>, out: Out<'_>) -> Result<()> {
        let [blocks, scales] = staged else {
            return Err(Error::usage("MXFP4 needs its blocks and scales"));
        };
        let (blocks, scales) = (blocks.bytes(), scales.bytes());
        match out {
            Out::F32(out) => self.turn_all(blocks, scales, experts.start, out),
            Out::Bf16(out) => self.turn_all(blocks, scales, experts.start, out),
            Out::F16(out) => self.turn_all(blocks, scales, experts.start, out),
        }
    }
}

#[allow(clippy::cast_possible_truncation)] // What is staged is in memory: its sides fit.
impl Transposed {
    fn turn_all<T: Number>(
        &self,
        blocks: &[u8],
        scales: &[u8],
        first: u64,
        out: &mut [T],
    ) -> Result<()> {
        let elements = (self.rows * self.columns) as usize;
        if elements == 0 {
            return Ok(());
        }
        let parts = blocks.chunks(elements / 2).zip(scales.chunks(elements / BLOCK));
        for (expert, (out, (blocks, scales))) in out.chunks_mut(elements).zip(parts).enumerate() {
            self.turn(blocks, scales, out)
                .map_err(|(row, group)| odd_scale(first + expert as u64, row, group))?;
        }
        Ok(())
    }

    /// One matrix; row and group of a scale that is none, where there is one.
    fn turn<T: Number>(
        &self,
        blocks: &[u8],
        scales: &[u8],
        out: &mut [T],
    ) -> Result<(), (usize, usize)> {
        let (level, rows) = (simd::level(), self.rows as usize);
        let groups = self.columns as usize / BLOCK;
        let mut tile = [0f32; BLOCK * ROWS];
        for start in (0..rows).step_by(ROWS) {
            let count = ROWS.min(rows - start);
            for group in 0..groups {
                for row in start..start + count {
                    let block = row * groups + group;
                    let scale = scale_of(DType::F8_E8M0, scales, block);
                    if !scale.is_finite() {
                        return Err((row, group));
                    }
                    let codes = &blocks.as_chunks::<BYTES>().0[block];
                    put_column(codes, scale, &mut tile[row - start..]);
                }
                for (column, numbers) in tile.chunks(ROWS).enumerate() {
                    let at = (group * BLOCK + column) * rows + start;
                    simd::narrow(level, &numbers[..count], &mut out[at..][..count]);
                }
            }
        }
        Ok(())
    }
}

/// The numbers of a block, one below the other.
fn put_column(codes: &[u8; BYTES], scale: f32, tile: &mut [f32]) {
    for (index, code) in codes.iter().enumerate() {
        tile[2 * index * ROWS] = E2M1[usize::from(code & 15)] * scale;
        tile[(2 * index + 1) * ROWS] = E2M1[usize::from(code >> 4)] * scale;
    }
}

fn odd_scale(expert: u64, row: usize, group: usize) -> Error {
    Error::malformed(format!("the scale of matrix {expert}, row {row}, group {group} is 255"))
        .hint("a scale must be a finite number; the file is damaged, or its scheme is another")
}
