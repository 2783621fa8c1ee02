//! GPTQ: integers packed along the input dimension, with a scale and a zero point per group.
//!
//! ```text
//! P.qweight  I32 [in / 8, out]        eight 4-bit codes a word, consecutive inputs, low bits first
//! P.qzeros   I32 [groups, out / 8]    eight 4-bit zero points a word, consecutive outputs
//! P.scales   F16 [groups, out]
//! P.g_idx    I32 [in]                 the group of each input; absent means input / group size
//! ```
//!
//! Recipe: `w[out][in] = scale[g][out] * (code - zero)`. The product is exact in f32, so f32 is
//! unrounded and the native type (that of the scales) is that value rounded once. Files of the
//! first kind (`checkpoint_format` "gptq") store `zero - 1`; "gptq_v2" stores `zero`. Their writer
//! takes the one off each packed word in a single subtraction, so that a zero point of 0 borrows
//! from its neighbours; adding it back to the whole word is what restores them.

use std::ops::Range;
use std::sync::Arc;

use half::{bf16, f16};

use super::{Bid, Bids, Evidence, Out, Part, Recipe, Scheme};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::source::{Slab, Staged};

mod layout;

use layout::Layout;

/// The scheme.
pub struct Gptq;

impl Scheme for Gptq {
    fn name(&self) -> &'static str {
        "gptq"
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        for &(id, info) in evidence.tensors() {
            if let Some(prefix) = info.name.strip_suffix(".qweight") {
                layout::bid_for(prefix, id, info, evidence, bids);
            }
        }
    }
}

/// How one GPTQ weight is decoded.
struct Packed4 {
    layout: Layout,
    has_groups: bool,
}

fn bid_of(layout: Layout, name: String, parts: Vec<Part>, has_groups: bool) -> Bid {
    Bid {
        name,
        shape: [layout.outputs, layout.inputs].into_iter().collect(),
        variant: layout.variant().into(),
        native: Some(layout.scale_type),
        parts,
        recipe: Ok(Arc::new(Packed4 { layout, has_groups })),
    }
}

impl Recipe for Packed4 {
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        let Layout { inputs, outputs, groups, scale_type, .. } = self.layout;
        let count = rows.end - rows.start;
        let scale_bytes = u64::from(scale_type.bits() / 8);
        let (zero_start, zero_end) = (rows.start / 8, rows.end.div_ceil(8));
        let columns = |part, start, row_bytes, count, stride| Slab {
            part,
            offset: start,
            row_bytes,
            count,
            stride,
        };
        slabs.push(columns(0, rows.start * 4, count * 4, inputs / 8, outputs * 4));
        slabs.push(columns(
            1,
            zero_start * 4,
            (zero_end - zero_start) * 4,
            groups,
            outputs / 8 * 4,
        ));
        slabs.push(columns(
            2,
            rows.start * scale_bytes,
            count * scale_bytes,
            groups,
            outputs * scale_bytes,
        ));
        if self.has_groups {
            slabs.push(Slab::whole(3, 0, inputs * 4));
        }
    }

    fn decode(&self, staged: &[Staged<'_>], rows: Range<u64>, out: Out<'_>) -> Result<()> {
        let [codes, zeros, scales, rest @ ..] = staged else {
            return Err(Error::usage("gptq needs its codes, zero points and scales"));
        };
        let tile = Tile { layout: &self.layout, rows, codes, zeros, scales, groups: rest.first() };
        match out {
            Out::F32(out) => tile.decode(out, |x| x),
            Out::Bf16(out) => tile.decode(out, bf16::from_f32),
            Out::F16(out) => tile.decode(out, f16::from_f32),
        }
    }
}

/// Some output rows with the bytes they need.
struct Tile<'a> {
    layout: &'a Layout,
    rows: Range<u64>,
    codes: &'a Staged<'a>,
    zeros: &'a Staged<'a>,
    scales: &'a Staged<'a>,
    groups: Option<&'a Staged<'a>>,
}

#[allow(clippy::cast_possible_truncation)] // A tile is in memory: its sides fit.
impl Tile<'_> {
    fn decode<T: Copy>(&self, out: &mut [T], round: impl Fn(f32) -> T) -> Result<()> {
        let inputs = self.layout.inputs as usize;
        let count = (self.rows.end - self.rows.start) as usize;
        let first_zero = (self.rows.start % 8) as usize;
        for word_row in 0..inputs / 8 {
            let words = self.codes.row(word_row).as_chunks::<4>().0;
            for lane in 0..8 {
                let input = word_row * 8 + lane;
                let group = self.group_of(input)?;
                let (zeros, scales) = (self.zeros.row(group), self.scales.row(group));
                for column in 0..count {
                    let code = u32::from_le_bytes(words[column]) >> (4 * lane) & 15;
                    let zero = self.zero(zeros, first_zero + column);
                    let scale = self.scale(scales, column);
                    out[column * inputs + input] = round(scale * (code as i32 - zero) as f32);
                }
            }
        }
        Ok(())
    }

    fn group_of(&self, input: usize) -> Result<usize> {
        let Some(groups) = self.groups else {
            return Ok(input / self.layout.group_size as usize);
        };
        let index = i32::from_le_bytes(groups.bytes().as_chunks::<4>().0[input]);
        match usize::try_from(index) {
            Ok(group) if (group as u64) < self.layout.groups => Ok(group),
            _ => Err(Error::malformed(format!(
                "g_idx[{input}] is {index}, but there are {} groups",
                self.layout.groups
            ))),
        }
    }

    fn zero(&self, zeros: &[u8], column: usize) -> i32 {
        let stored = u32::from_le_bytes(zeros.as_chunks::<4>().0[column / 8]);
        let ones = if self.layout.zeros_less_one { 0x1111_1111 } else { 0 };
        (stored.wrapping_add(ones) >> (4 * (column % 8)) & 15) as i32
    }

    fn scale(&self, scales: &[u8], column: usize) -> f32 {
        match self.layout.scale_type {
            DType::F32 => f32::from_le_bytes(scales.as_chunks().0[column]),
            DType::BF16 => bf16::from_le_bytes(scales.as_chunks().0[column]).to_f32(),
            _ => f16::from_le_bytes(scales.as_chunks().0[column]).to_f32(),
        }
    }
}
