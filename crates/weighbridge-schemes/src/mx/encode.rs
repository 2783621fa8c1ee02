//! The stacked experts of gpt-oss in four-bit floats, as OpenAI published them.
//!
//! ```text
//! P [E, in, out]  ->  P_blocks U8 [E, out, in / 32, 16], P_scales U8 [E, out, in / 32]
//! ```
//!
//! P is `experts.gate_up_proj` or `experts.down_proj`, as transformers holds it; groups run along
//! `in`, so a matrix is transposed on the way and its expert is the smallest tile. Arithmetic of
//! the function that transformers 5.22.2 calls for it (`downcast_to_mxfp_torch` of Triton's
//! kernels): numbers are rounded to bf16, the scale is the least power of two that is at least
//! `amax / 6` in f32, the code is the nearest E2M1 of `x * (1 / scale)`, halves to even, and keeps
//! the sign of zero. A group of zeros has the scale byte 0.

use std::ops::Range;
use std::sync::Arc;

use serde_json::json;

use super::{GPT_OSS, GROUP};
use crate::arithmetic::decode_again::{Coded, scaled};
use crate::arithmetic::group_codes::{largest, nibbles};
use crate::arithmetic::matrix::{Arithmetic, FLOATS4};
use crate::arithmetic::precision::{Brain, Precision};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::framework::{
    Candidate, Chosen, Decoded, EncodedTensor, Encoder, Groups, Quantizer, Request, TypeAssignment,
    WeightEncoder,
};
use crate::simd::small_floats::e8m0;
use crate::simd::{self, Isa, Sides, Task, to_e2m1_magnitude, transpose};

/// The way to store a model.
pub(super) struct GptOss;

/// What the weights of stacked experts end with.
const EXPERTS: [&str; 2] = [".experts.gate_up_proj", ".experts.down_proj"];

/// Modules that OpenAI's config leaves out.
const LEFT_OUT: [&str; 4] =
    ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"];

impl Quantizer for GptOss {
    facts! {
        name: "mxfp4-gpt-oss",
        about: "4-bit floats, one power-of-two scale per 32, for gpt-oss's stacked experts",
        types: vec![DType::U8.into()],
    }

    fn choose(&self, request: &Request<'_>) -> Result<Chosen> {
        if request.wishes.group_size.is_some_and(|size| size != GROUP) {
            return Err(Error::usage(format!("MXFP4 has a fixed group size of {GROUP}")));
        }
        let experts = request.weights.iter().filter(|weight| is_experts(weight));
        let kept = experts.clone().find(|weight| (request.keeps)(weight.name));
        if let Some(kept) = kept {
            // The loader expects blocks for all experts or none.
            return Err(Error::unsupported(
                "stacked experts must be quantized in all layers or in none",
            )
            .in_tensor(kept.name));
        }
        if experts.count() == 0 {
            return Err(Error::unsupported(
                "the model has no stacked experts (experts.gate_up_proj, experts.down_proj), and \
                 this layout stores nothing else",
            ));
        }
        let fate = |weight: &Candidate<'_>| {
            if is_experts(weight) {
                TypeAssignment::Encode(Arc::new(Self) as Arc<dyn Encoder>)
            } else {
                TypeAssignment::Keep
            }
        };
        let section = json!({ "modules_to_not_convert": LEFT_OUT, "quant_method": GPT_OSS });
        Ok(Chosen::stated(section, request.weights.iter().map(fate).collect(), Vec::new()))
    }
}

/// Whether a weight is that of stacked experts.
fn is_experts(weight: &Candidate<'_>) -> bool {
    let is_named = EXPERTS.iter().any(|end| weight.name.ends_with(end));
    is_named && weight.shape.len() == 3 && weight.dtype.is_float()
}

impl Encoder for GptOss {
    fn name(&self) -> &'static str {
        Quantizer::name(self)
    }

    fn types(&self) -> Vec<StoredType> {
        Quantizer::types(self)
    }

    fn outputs(&self, name: &str, shape: &[u64]) -> Result<Vec<EncodedTensor>, String> {
        let &[experts, inner, outer] = shape else { refuse!("it is not a stack of matrices") };
        if inner == 0 || outer == 0 || inner % GROUP != 0 {
            return Err(format!(
                "column length {inner} is not a multiple of the group size ({GROUP})"
            ));
        }
        let (elements, groups) = (inner * outer, inner / GROUP);
        let tensor = |end: &str, sides: &[u64], bytes| {
            let groups = Groups::Of { elements, bytes };
            EncodedTensor::of(format!("{name}{end}"), DType::U8, sides, groups)
        };
        Ok(vec![
            tensor("_blocks", &[experts, outer, groups, GROUP / 2], elements / 2),
            tensor("_scales", &[experts, outer, groups], outer * groups),
        ])
    }

    fn begin(&self, shape: &[u64]) -> Box<dyn WeightEncoder> {
        let side = |at: usize| shape.get(at).copied().unwrap_or(0);
        Box::new(Experts { sides: [side(1), side(2)] })
    }
}

/// Encodes one stack.
struct Experts {
    /// Rows and columns of a matrix.
    sides: [u64; 2],
}

impl WeightEncoder for Experts {
    fn encode(&self, _: Range<u64>, values: &[f32], out: &mut [&mut [u8]]) -> Result<()> {
        let [blocks, scales] = out else {
            return Err(Error::usage("expected two tensors: blocks and scales"));
        };
        let too_large = |_| Error::limit("a matrix is too large for this machine's address space");
        let rows = usize::try_from(self.sides[0]).map_err(too_large)?;
        let columns = usize::try_from(self.sides[1]).map_err(too_large)?;
        let (matrix, stripe) = (rows.saturating_mul(columns), columns.saturating_mul(32));
        let mut turned = vec![0f32; stripe.min(values.len())];
        let sides = Sides { rows: 32, columns, from: columns, to: 32 };
        let outs =
            blocks.chunks_mut((matrix / 2).max(1)).zip(scales.chunks_mut((matrix / 32).max(1)));
        for (values, (blocks, scales)) in values.chunks_exact(matrix.max(1)).zip(outs) {
            // 32 rows are one group of every column.
            for (group, stripe) in values.chunks_exact(stripe).enumerate() {
                transpose(simd::level(), sides, stripe, &mut turned);
                let every = rows / 32;
                let task = Encode { values: &mut turned, group, every, blocks, scales };
                simd::run(simd::level(), task);
            }
        }
        Ok(())
    }

    fn decode(&self, _: Range<u64>, encoded: &[&[u8]], decoded: &mut Decoded) -> Result<bool> {
        let [blocks, scales] = encoded else { return Ok(false) };
        let [rows, columns] = self.sides.map(|side| usize::try_from(side).unwrap_or(usize::MAX));
        let matrix = rows.saturating_mul(columns).max(1);
        let out = &mut decoded.numbers;
        let mut turned = vec![0f32; matrix.min(out.len())];
        let sides = Sides { rows: columns, columns: rows, from: rows, to: columns };
        let matrices = out.chunks_exact_mut(matrix).zip(blocks.chunks_exact(matrix / 2));
        for ((out, codes), scales) in matrices.zip(scales.chunks_exact(matrix / 32)) {
            let coded = Coded {
                codes: &FLOATS4,
                arithmetic: Arithmetic::Times,
                group: 32,
                bytes: codes,
                factors: &scaled(scales.iter().map(|byte| e8m0(*byte))),
                // Groups run along columns, and levels along rows.
                step: None,
            };
            coded.decode(&mut turned, &mut decoded.levels);
            transpose(simd::level(), sides, &turned, out);
        }
        Ok(true)
    }
}

/// A group of each column, and where it goes: every so many groups.
struct Encode<'a> {
    values: &'a mut [f32],
    group: usize,
    every: usize,
    blocks: &'a mut [u8],
    scales: &'a mut [u8],
}

impl Task for Encode<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        let blocks = self.blocks.chunks_mut(16).skip(self.group).step_by(self.every.max(1));
        let scales = self.scales.iter_mut().skip(self.group).step_by(self.every.max(1));
        let groups = self.values.as_chunks_mut::<32>().0.iter_mut();
        for ((group, codes), scale) in groups.zip(blocks).zip(scales) {
            group.iter_mut().for_each(|value| *value = Brain::round(*value));
            let bits = ((largest(group) / 6.0).to_bits() + 0x7f_ffff) & 0x7f80_0000;
            *scale = (bits >> 23).to_le_bytes()[0];
            let factor = if bits == 0 { 0.0 } else { 1.0 / f32::from_bits(bits) };
            nibbles(group, codes, |value| {
                let scaled = value * factor;
                to_e2m1_magnitude(scaled) | u8::from(scaled.is_sign_negative()) << 3
            });
        }
    }
}
