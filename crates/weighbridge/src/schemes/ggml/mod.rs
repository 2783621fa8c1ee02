//! The block types of ggml, as GGUF and APR files hold them: rows of whole blocks.
//!
//! A block tensor is a weight by itself: scales lie inside its blocks. This room claims every
//! tensor of a known block type and states its true size; arithmetic is not part of it yet, so
//! values are refused by name.

use super::{Bid, Bids, Evidence, Part, Scheme};
use crate::blocks::{Standing, Tiling};
use crate::dtype::{DType, StoredType};

/// The scheme.
pub struct Ggml;

impl Scheme for Ggml {
    fn name(&self) -> &'static str {
        "ggml"
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        for &(id, info) in evidence.tensors() {
            let (variant, why) = match &info.stored {
                StoredType::Block(block) => {
                    // Blocks laid over the ends of rows are APR's way, and the `apr` room's.
                    let tiling = block.tiling(&info.shape, info.bytes);
                    let theirs = matches!(tiling, Some(Tiling::PaddedRows | Tiling::Flat));
                    if theirs || block.standing == Standing::Apr {
                        continue;
                    }
                    (block.name, standing(block.standing))
                }
                StoredType::Opaque(name) if info.refused.is_none() => match fork(name) {
                    Some(fork) => fork,
                    None => continue,
                },
                _ => continue,
            };
            bids.weights.push(Bid {
                name: info.name.to_string(),
                shape: info.shape.clone(),
                variant: variant.into(),
                native: Some(DType::F32),
                parts: vec![Part { role: "weight", tensor: id }],
                recipe: Err(format!("block type {variant} {why}").into()),
            });
        }
    }
}

fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Removed => "was removed from ggml and is not decoded",
        Standing::IkLlama => "is written by ik_llama.cpp only and is not decoded",
        Standing::Current | Standing::Apr => "is not decoded by this version",
    }
}

/// Types that forks store under numbers of other types: the size is known, the block is not in
/// the table.
fn fork(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "I2_S" => Some(("I2_S", "is written by BitNet's fork only and is not decoded")),
        "MXFP4" => Some(("MXFP4-ollama", "of early Ollama files is not decoded")),
        _ => None,
    }
}
