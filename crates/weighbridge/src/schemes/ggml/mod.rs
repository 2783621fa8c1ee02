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
            let StoredType::Block(block) = info.stored else { continue };
            // Blocks laid over the ends of rows are APR's way, and the `apr` room's.
            let tiling = block.tiling(&info.shape, info.bytes);
            if matches!(tiling, Some(Tiling::PaddedRows | Tiling::Flat)) {
                continue;
            }
            let why = match block.standing {
                Standing::Removed => "was removed from ggml and is not decoded",
                Standing::IkLlama => "is written by ik_llama.cpp only and is not decoded",
                Standing::Apr => continue,
                Standing::Current => "is not decoded by this version",
            };
            bids.weights.push(Bid {
                name: info.name.to_string(),
                shape: info.shape.clone(),
                variant: block.name.into(),
                native: Some(DType::F32),
                parts: vec![Part { role: "weight", tensor: id }],
                recipe: Err(format!("block type {} {why}", block.name).into()),
            });
        }
    }
}
