//! Types that only APR files have, and APR's layouts of ggml's blocks.
//!
//! - `APR_Q8`: one f32 scale, then a signed byte for each element.
//! - `APR_Q4`: blocks of 32 over the flat tensor, 18 bytes each: an f16 scale and 16 bytes, the
//!   low nibble before the high one. The last block is filled up.
//! - `Q4_K`, `Q6_K` of tensors whose rows are not made of whole blocks: each row of a matrix is
//!   filled up to 256 elements, any other tensor once at its end. (Rows of whole blocks are
//!   ggml's own layout, and `ggml` bids for those.)
//!
//! Recipe: the working and native type is f32: `q s` for `APR_Q8`, `(q - 8) s` for `APR_Q4`, and
//! ggml's order of operations for its blocks. bf16 and f16 are that f32, rounded once.
//!
//! A scale means what its bits say. One of the project's two decoders reads an f16 scale that is
//! infinite, NaN or below 2^-14 as zero, the other does not. A reader should neither hide a broken
//! scale nor drop small weights. The first decoder also reads padded rows as if they were flat,
//! which is not what its quantizer wrote.

use std::sync::Arc;

use crate::arithmetic::plain;
use crate::blocks::{APR_Q8, Block, Standing, Tiling};
use crate::catalog::TensorInfo;
use crate::dtype::{DType, StoredType};
use crate::framework::{Bid, Bids, Evidence, Method, Part, Recipe, Scheme, Summary};
use crate::ggml::{BlockRows, Maker, kernel_of};

mod padded_rows;
mod scaled_bytes;

/// The APR scheme.
pub struct Apr;

impl Scheme for Apr {
    fn name(&self) -> &'static str {
        "apr"
    }

    fn methods(&self) -> &'static [Method] {
        &[]
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        summary.has_blocks()
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        for &(id, info) in evidence.tensors() {
            let Some((variant, recipe)) = weight_of(info) else {
                continue;
            };
            bids.weights.push(Bid {
                name: info.name.to_string(),
                shape: info.shape.clone(),
                variant: variant.into(),
                native: Some(DType::F32),
                parts: vec![Part { role: "weight", tensor: id }],
                recipe,
            });
        }
    }
}

/// Recipe of a weight, or why it cannot be decoded.
type Decoding = Result<Arc<dyn Recipe>, Arc<str>>;

/// Returns the variant and the recipe, if the tensor has an APR type.
fn weight_of(info: &TensorInfo) -> Option<(&'static str, Decoding)> {
    let columns = plain::columns(&info.shape);
    match &info.stored {
        StoredType::Block(block) => {
            let tiling = match block.standing {
                // The container has already rejected tensors of the wrong size.
                Standing::Apr => Tiling::Flat,
                _ => block.tiling(&info.shape, info.bytes)?,
            };
            (tiling != Tiling::Rows).then(|| (block.name, blocks(block, tiling, columns)))
        }
        // A rejected tensor has another type of the same name, or the wrong size.
        StoredType::Opaque(name) if &**name == APR_Q8 && info.refused.is_none() => {
            Some((APR_Q8, Ok(Arc::new(scaled_bytes::ScaledBytes))))
        }
        _ => None,
    }
}

/// Returns the recipe for blocks that do not form whole rows.
fn blocks(block: &'static Block, tiling: Tiling, columns: u64) -> Decoding {
    let kernel =
        kernel_of(block).ok_or_else(|| format!("block type {} is not supported", block.name))?;
    let rows = BlockRows { block, kernel, columns, maker: Maker::Apr };
    Ok(match tiling {
        Tiling::PaddedRows => Arc::new(padded_rows::PaddedRows { row: rows }),
        Tiling::Rows | Tiling::Flat => Arc::new(rows),
    })
}
