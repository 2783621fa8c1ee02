//! The block types of ggml, as GGUF and APR files hold them: rows of whole blocks.
//!
//! A block tensor is a weight by itself: scales lie inside its blocks. (NVFP4 may have one more
//! beside it, see `companion.rs`.) This scheme claims every tensor of a known block type. What today's ggml writes is decoded;
//! types that were removed from it and types of its forks are refused by name.
//!
//! Recipe: the working and native type is f32, in the order of operations of ggml's own C
//! (`dequantize_row_*`), each step rounded: the results are the same to the bit, NaN apart (see
//! `simd`). bf16 and f16 are that f32, rounded once.

use std::ops::Range;
use std::sync::Arc;

use crate::arithmetic::plain;
use crate::blocks::{Block, Standing, Tiling};
use crate::catalog::Finding;
use crate::dtype::{DType, StoredType};
use crate::error;
use crate::framework::{
    Bid, Bids, Encoder, Evidence, Method, Origins, Part, Quantizer, Recipe, Scheme, Summary,
    TargetLayout,
};
use crate::number::Out;
use crate::simd;
use crate::source::{Slab, Staged};

#[cfg(test)]
mod agreement;
mod apr_q4;
mod bits;
mod codebook;
mod companion;
#[cfg(test)]
mod encode_agreement;
mod encoder;
mod encoding;
mod fp4;
mod grids;
mod iq1;
mod iq2;
mod iq3;
mod k_minimum;
mod k_signed;
mod kernel;
mod magnitudes;
mod mixture;
mod origins;
mod rounding;
mod rows;
mod scaled_fp4;
mod scales;
mod search;
mod simple;
mod splits;
mod target;
mod ternary;

pub(crate) use encoder::BlockEncoder;
pub(crate) use kernel::Kernel;
pub use mixture::types_of;
pub(crate) use origins::{BlockStretch, InBlocks};
pub(crate) use rows::{BlockRows, Maker};
pub(crate) use scaled_fp4::nvfp4_with_scale;

/// The kernels of every family, a file each.
static FAMILIES: &[&[Kernel]] = &[
    apr_q4::KERNELS,
    simple::KERNELS,
    k_minimum::KERNELS,
    k_signed::KERNELS,
    iq1::KERNELS,
    iq2::KERNELS,
    iq3::KERNELS,
    codebook::KERNELS,
    ternary::KERNELS,
    fp4::KERNELS,
    bits::KERNELS,
];

/// How blocks of that type are decoded, if they are.
pub(crate) fn kernel_of(block: &Block) -> Option<&'static Kernel> {
    FAMILIES.iter().copied().flatten().find(|kernel| kernel.name == block.name)
}

/// The scheme.
pub struct Ggml;

impl Scheme for Ggml {
    fn name(&self) -> &'static str {
        "ggml"
    }

    fn methods(&self) -> &'static [Method] {
        &[]
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        summary.has_blocks()
    }

    fn is_named_by_type(&self) -> bool {
        true
    }

    #[cfg(feature = "encoders")]
    fn encoders(&self) -> Vec<Arc<dyn Encoder>> {
        let blocks = BlockEncoder::all().map(|encoder| Arc::new(encoder) as _);
        blocks.chain(nvfp4_with_scale()).collect()
    }

    #[cfg(feature = "encoders")]
    fn quantizers(&self) -> &'static [&'static dyn Quantizer] {
        mixture::all()
    }

    fn layouts(&self) -> &'static [&'static dyn TargetLayout] {
        target::ALL
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        let maker = maker(evidence);
        for &(id, info) in evidence.tensors() {
            let (variant, recipe) = match &info.stored {
                StoredType::Block(block) => {
                    // Blocks that cross the ends of rows belong to the `apr` scheme.
                    let tiling = block.tiling(&info.shape, info.bytes);
                    let theirs = matches!(tiling, Some(Tiling::PaddedRows | Tiling::Flat));
                    if theirs || block.standing == Standing::Apr {
                        continue;
                    }
                    (block.name, recipe(block, plain::columns(&info.shape), maker))
                }
                StoredType::Opaque(name) if info.refused.is_none() => match fork(name) {
                    Some((variant, reason)) => (variant, Err(reason)),
                    None => continue,
                },
                _ => continue,
            };
            let recipe = recipe.map_err(|reason| format!("block type {variant} {reason}"));
            let mut parts = vec![Part { role: "weight", tensor: id }];
            let recipe = companion::with_scale(evidence, info, recipe, &mut parts, bids);
            // A weight that cannot be decoded is a finding, unless its bytes cannot be read at all:
            // that has a finding already.
            if let (Err(reason), None) = (&recipe, &info.refused) {
                bids.findings.push(Finding::of(&info.name, "undecodable", reason.clone()));
            }
            bids.weights.push(Bid {
                name: info.name.to_string(),
                shape: info.shape.clone(),
                variant: variant.into(),
                native: Some(DType::F32),
                parts,
                recipe: recipe.map_err(Into::into),
            });
        }
    }
}

/// Who made the blocks, by the keys that ggml's tools write. Of a model in several files, the first
/// says it for all.
fn maker(evidence: &Evidence<'_>) -> Maker {
    let has = |start: &str| {
        let mut keys = evidence.metadata().iter().flat_map(|metadata| metadata.iter());
        keys.any(|(key, _)| key.starts_with(start))
    };
    if has("general.") {
        Maker::Ggml { by_importance: has("quantize.imatrix.") }
    } else {
        Maker::Apr
    }
}

/// How rows of whole blocks are decoded, or why they are not.
fn recipe(
    block: &'static Block,
    columns: u64,
    maker: Maker,
) -> Result<Arc<dyn Recipe>, &'static str> {
    match (standing(block.standing), kernel_of(block)) {
        (Some(reason), _) => Err(reason),
        (None, Some(kernel)) => Ok(Arc::new(BlockRows { block, kernel, columns, maker })),
        (None, None) => Err("is not supported"),
    }
}

impl Recipe for BlockRows {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        slabs.push(self.slab(elements));
    }

    fn decode(
        &self,
        staged: &[Staged<'_>],
        elements: Range<u64>,
        out: Out<'_>,
    ) -> error::Result<()> {
        let bytes = staged.first().map(Staged::bytes).unwrap_or_default();
        self.decode_elements(simd::level(), bytes, elements.start, out);
        Ok(())
    }

    fn origins(&self) -> Option<&dyn Origins> {
        origins::of_type(self.block.name).map(|_| self as &dyn Origins)
    }
}

/// Why a block type will never be decoded here; `None` if it will.
fn standing(standing: Standing) -> Option<&'static str> {
    match standing {
        Standing::Removed => {
            Some("was removed from ggml and is not supported; fetch the model as Q4_0")
        }
        Standing::IkLlama => Some(
            "is specific to ik_llama.cpp and not supported; convert it to a ggml type with \
             ik_llama.cpp's tools",
        ),
        Standing::Current | Standing::Apr => None,
    }
}

/// Types that forks store under numbers of other types: the size is known, the block is not in
/// the table. Variant and reason.
fn fork(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "I2_S" => Some((
            "I2_S",
            "is specific to BitNet's fork and not supported; fetch the original model",
        )),
        "MXFP4" => Some((
            "MXFP4-ollama",
            "of early Ollama files is not supported; fetch a newer file of the model",
        )),
        _ => None,
    }
}
