//! Encodes tiles of a weight as 8-bit floats: rows of blocks, or numbers that share one scale.

use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::BLOCK;
use crate::arithmetic::decode_again::{Coded, scaled};
use crate::arithmetic::group_codes::{bytes, largest};
use crate::arithmetic::matrix::{Arithmetic, Codes, Factor, Packing};
use crate::error::{Error, Result};
use crate::framework::{Decoded, WeightEncoder};
use crate::simd::small_floats::e4m3;
use crate::simd::{self, finite_to_e4m3, kernel, to_e4m3};

/// The factor that numbers are multiplied by, and the stored scale.
#[inline(always)]
fn scales(largest: f32) -> [f32; 2] {
    // torch divides a number by a tensor this way.
    let scale = if largest > 0.0 { 1.0 / largest * 448.0 } else { 1.0 };
    [scale, 1.0 / scale]
}

/// Writes one code per number times the scale.
#[inline(always)]
fn products(values: &[f32], scale: f32, largest: f32, codes: &mut [u8]) {
    if largest.is_finite() {
        bytes(values, codes, |value| finite_to_e4m3(value * scale));
    } else {
        bytes(values, codes, |value| to_e4m3(value * scale));
    }
}

/// Blocks of one weight.
pub(super) struct Blocks {
    pub(super) columns: u64,
}

impl WeightEncoder for Blocks {
    fn encode(&self, _: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        let [codes, inverses] = out else {
            return Err(Error::usage("expected two tensors: codes and scales"));
        };
        let too_large = |_| Error::limit("a row is too large for this machine's address space");
        let columns = usize::try_from(self.columns).map_err(too_large)?.max(1);
        encode_stripes(simd::level(), columns, values, codes, inverses);
        Ok(())
    }

    fn decode(&self, _: Range<u64>, encoded: &[&[u8]], decoded: &mut Decoded) -> Result<bool> {
        let [codes, inverses] = encoded else { return Ok(false) };
        let columns = usize::try_from(self.columns).unwrap_or(usize::MAX).max(1);
        let (stripe, blocks) = (BLOCK.saturating_mul(columns), columns.div_ceil(BLOCK));
        let stripes = decoded.numbers.chunks_mut(stripe).zip(codes.chunks(stripe));
        for ((out, codes), inverses) in stripes.zip(inverses.chunks(4 * blocks)) {
            let scales = inverses.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
            let factors = &scaled(scales)[..];
            for (out, bytes) in out.chunks_mut(columns).zip(codes.chunks(columns)) {
                coded(BLOCK, bytes, factors).decode(out, &mut decoded.levels);
            }
        }
        Ok(true)
    }
}

kernel! {
    /// Encodes rows of blocks.
    fn encode_stripes(
        _isa; columns: usize, values: &[f32], codes: &mut [u8], inverses: &mut [u8]
    ) -> () {
        let blocks = columns.div_ceil(BLOCK);
        let stripe = BLOCK.saturating_mul(columns);
        let mut largests = vec![0f32; blocks];
        let mut factors = vec![0f32; blocks];
        let outs = codes.chunks_mut(stripe).zip(inverses.chunks_mut(4 * blocks));
        for (values, (codes, inverses)) in values.chunks(stripe).zip(outs) {
            largests.fill(0.0);
            for row in values.chunks(columns) {
                for (most, block) in largests.iter_mut().zip(row.chunks(BLOCK)) {
                    // Without the sign, bit patterns are ordered by magnitude, so no number is
                    // lost.
                    *most = f32::from_bits(most.to_bits().max(largest(block).to_bits()));
                }
            }
            let both = factors.iter_mut().zip(inverses.as_chunks_mut().0);
            for (&largest, (factor, inverse)) in largests.iter().zip(both) {
                let [scale, stored] = scales(largest);
                *factor = scale;
                *inverse = stored.to_le_bytes();
            }
            let scaled = || largests.iter().zip(&factors);
            for (row, codes) in values.chunks(columns).zip(codes.chunks_mut(columns)) {
                let pairs = row.chunks(BLOCK).zip(codes.chunks_mut(BLOCK));
                for ((&largest, &factor), (block, codes)) in scaled().zip(pairs) {
                    products(block, factor, largest, codes);
                }
            }
        }
    }
}

/// A weight with one scale, whose largest number is found in a first pass.
#[derive(Default)]
pub(super) struct Whole {
    /// Bits of the largest number.
    largest: AtomicU32,
}

impl WeightEncoder for Whole {
    fn needs_first_pass(&self) -> bool {
        true
    }

    fn see(&self, _: Range<u64>, values: &[f32]) {
        self.largest.fetch_max(look(simd::level(), values).to_bits(), Ordering::Relaxed);
    }

    fn encode(&self, _: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        let [codes, stored] = out else {
            return Err(Error::usage("expected two tensors: codes and a scale"));
        };
        let largest = f32::from_bits(self.largest.load(Ordering::Relaxed));
        let [scale, inverse] = scales(largest);
        stored.iter_mut().zip(inverse.to_le_bytes()).for_each(|(to, byte)| *to = byte);
        encode_scaled(simd::level(), scale, largest, values, codes);
        Ok(())
    }

    fn decode(&self, _: Range<u64>, encoded: &[&[u8]], decoded: &mut Decoded) -> Result<bool> {
        let [codes, _] = encoded else { return Ok(false) };
        let [_, inverse] = scales(f32::from_bits(self.largest.load(Ordering::Relaxed)));
        let factors = [Factor { scale: inverse, offset: 0.0 }];
        let coded = coded(codes.len(), codes, &factors);
        coded.decode(&mut decoded.numbers, &mut decoded.levels);
        Ok(true)
    }
}

/// Returns codes in groups. Eight-bit floats are too unevenly spaced to have steps.
fn coded<'a>(group: usize, bytes: &'a [u8], factors: &'a [Factor]) -> Coded<'a> {
    static FLOATS8: LazyLock<Codes> = LazyLock::new(|| Codes::new(Packing::Bytes, e4m3));
    Coded { codes: &FLOATS8, arithmetic: Arithmetic::Times, group, bytes, factors, step: None }
}

kernel! {
    /// Finds the largest number.
    fn look(_isa; values: &[f32]) -> f32 { largest(values) }
}

kernel! {
    /// Encodes numbers with one scale.
    fn encode_scaled(_isa; scale: f32, largest: f32, values: &[f32], codes: &mut [u8]) -> () {
        products(values, scale, largest, codes);
    }
}
