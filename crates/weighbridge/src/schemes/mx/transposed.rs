//! gpt-oss's experts, turned as transformers turns them.
//!
//! ```text
//! part 0   blocks  [E, rows, columns / 32, 16]   two codes a byte, the low nibble first
//! part 1   scales  [E, rows, columns / 32]       E8M0
//! result           [E, columns, rows]
//! ```

use std::ops::Range;

use crate::error::{Error, Result};
use crate::schemes::matrix::{self, Arithmetic, Codes, E2M1, Factor, Packing, Run};
use crate::schemes::plain::power_of_two;
use crate::schemes::{Out, Recipe};
use crate::simd::{self, Number, Sides};
use crate::source::{Slab, Staged};

/// Columns of a block.
const BLOCK: usize = 32;
/// Bytes of a block's codes.
const BYTES: usize = BLOCK / 2;
/// Rows turned at a time, and blocks of them: their numbers stay in the second cache.
const ROWS: usize = 64;
const BLOCKS: usize = 16;

/// Stacked matrices, each stored as `rows` of `columns`.
pub(super) struct Transposed {
    rows: u64,
    columns: u64,
    codes: Codes,
}

impl Transposed {
    pub(super) fn new(rows: u64, columns: u64) -> Self {
        let codes = Codes::new(Packing::LowNibbles, |code| E2M1[usize::from(code)]);
        Self { rows, columns, codes }
    }
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
        let mut tile = [T::default(); ROWS * BLOCKS * BLOCK];
        for start in (0..rows).step_by(ROWS) {
            let count = ROWS.min(rows - start);
            for group in (0..groups).step_by(BLOCKS) {
                let across = BLOCKS.min(groups - group);
                let columns = across * BLOCK;
                let out = &mut out[group * BLOCK * rows + start..];
                for (row, tile) in (start..start + count).zip(tile.chunks_mut(columns)) {
                    let first = row * groups + group;
                    let codes = &blocks[first * BYTES..(first + across) * BYTES];
                    let mut factors = [Factor::default(); BLOCKS];
                    let factors = &mut factors[..across];
                    powers(&scales[first..first + across], factors)
                        .map_err(|odd| (row, group + odd))?;
                    let run = Run { codes, start: 0, factors, group: BLOCK, into: 0 };
                    matrix::decode_run(level, &self.codes, Arithmetic::Times, &run, tile);
                }
                let sides = Sides { rows: count, columns, from: columns, to: rows };
                simd::transpose(level, sides, &tile, out);
            }
        }
        Ok(())
    }
}

/// Scales of some blocks; the index of one that is none.
fn powers(scales: &[u8], out: &mut [Factor]) -> Result<(), usize> {
    for (&scale, out) in scales.iter().zip(out) {
        *out = Factor { scale: power_of_two(scale), offset: 0.0 };
    }
    scales.iter().position(|scale| *scale == u8::MAX).map_or(Ok(()), Err)
}

fn odd_scale(expert: u64, row: usize, group: usize) -> Error {
    Error::malformed(format!("the scale of matrix {expert}, row {row}, group {group} is 255"))
        .hint("a scale must be a finite number; the file is damaged, or its scheme is another")
}
