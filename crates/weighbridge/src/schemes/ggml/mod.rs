//! The block types of ggml, as GGUF and APR files hold them: rows of whole blocks.
//!
//! A block tensor is a weight by itself: scales lie inside its blocks. This room claims every
//! tensor of a known block type and states its true size; arithmetic is not part of it yet, so
//! values are refused by name.

use super::{Bid, Bids, Evidence, Part, Scheme};
use crate::blocks::{Standing, Tiling};
use crate::catalog::Finding;
use crate::dtype::{DType, StoredType};

/// The scheme.
pub struct Ggml;

impl Scheme for Ggml {
    fn name(&self) -> &'static str {
        "ggml"
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        for &(id, info) in evidence.tensors() {
            let (variant, verdict) = match &info.stored {
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
            let reason = format!("block type {variant} {}", verdict.unwrap_or(NOT_YET));
            // What a later version will read is no fault of the file. What nobody will is one
            // to know of before anything else, unless it cannot even be fetched.
            if verdict.is_some() && info.refused.is_none() {
                bids.findings.push(Finding::of(&info.name, "undecodable", reason.clone()));
            }
            bids.weights.push(Bid {
                name: info.name.to_string(),
                shape: info.shape.clone(),
                variant: variant.into(),
                native: Some(DType::F32),
                parts: vec![Part { role: "weight", tensor: id }],
                recipe: Err(reason.into()),
            });
        }
    }
}

/// What is said of types that will be decoded.
const NOT_YET: &str = "is not decoded by this version";

/// Why a block type will never be decoded here; `None` if it will.
fn standing(standing: Standing) -> Option<&'static str> {
    match standing {
        Standing::Removed => {
            Some("was removed from ggml and is not decoded; fetch the model as Q4_0")
        }
        Standing::IkLlama => Some(
            "is written by ik_llama.cpp only and is not decoded; its own tools can turn it into \
             one of ggml's",
        ),
        Standing::Current | Standing::Apr => None,
    }
}

/// Types that forks store under numbers of other types: the size is known, the block is not in
/// the table. Variant and verdict.
fn fork(name: &str) -> Option<(&'static str, Option<&'static str>)> {
    match name {
        "I2_S" => Some((
            "I2_S",
            Some("is written by BitNet's fork only and is not decoded; fetch the safetensors"),
        )),
        "MXFP4" => Some((
            "MXFP4-ollama",
            Some("of early Ollama files is not decoded; fetch a newer file of the model"),
        )),
        _ => None,
    }
}
