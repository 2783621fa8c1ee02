//! The types that only APR files have, and the way they lay ggml's blocks.
//!
//! - `APR_Q8`: one f32 scale, then a signed byte for each element.
//! - `APR_Q4`: blocks of 32 over the flat tensor, 18 bytes each: an f16 scale and 16 bytes, the
//!   low nibble before the high one. The last block is filled up.
//! - `Q4_K`, `Q6_K` of tensors whose rows are not made of whole blocks: each row of a matrix is
//!   filled up to 256 elements, any other tensor once at its end. (Rows of whole blocks are
//!   ggml's own layout, and `ggml` bids for those.)
//!
//! This room states their true sizes; arithmetic is not part of it yet, so values are refused.

use super::{Bid, Bids, Evidence, Part, Scheme};
use crate::blocks::{APR_Q8, Standing, Tiling};
use crate::catalog::TensorInfo;
use crate::dtype::{DType, StoredType};

/// The scheme.
pub struct Apr;

impl Scheme for Apr {
    fn name(&self) -> &'static str {
        "apr"
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        for &(id, info) in evidence.tensors() {
            let Some(variant) = variant_of(info) else {
                continue;
            };
            bids.weights.push(Bid {
                name: info.name.to_string(),
                shape: info.shape.clone(),
                variant: variant.into(),
                native: Some(DType::F32),
                parts: vec![Part { role: "weight", tensor: id }],
                recipe: Err(format!("APR's {variant} is not decoded by this version").into()),
            });
        }
    }
}

/// The variant, when the tensor is one of ours.
fn variant_of(info: &TensorInfo) -> Option<&'static str> {
    match &info.stored {
        StoredType::Block(block) if block.standing == Standing::Apr => Some(block.name),
        StoredType::Block(block) => match block.tiling(&info.shape, info.bytes)? {
            Tiling::Rows => None,
            Tiling::PaddedRows | Tiling::Flat => Some(block.name),
        },
        // A refused one is a stranger of that name, or of the wrong size.
        StoredType::Opaque(name) if &**name == APR_Q8 && info.refused.is_none() => Some(APR_Q8),
        _ => None,
    }
}
