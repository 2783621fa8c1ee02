//! A packed weight's companions, and the dimensions that all evidence agrees on.

use std::sync::Arc;

use super::{Columns, WordLayout, Zeros, plain_codes};
use crate::catalog::TensorInfo;
use crate::dtype::{DType, StoredType};
use crate::framework::{Bid, Bids, Evidence, Part, StoredTensor};

/// Companion tensors of the packed codes.
pub(crate) struct Companions<'a> {
    pub zeros: Option<StoredTensor<'a>>,
    pub scales: Option<StoredTensor<'a>>,
    pub groups: Option<StoredTensor<'a>>,
}

impl<'a> Companions<'a> {
    pub(crate) fn of(module: &str, evidence: &Evidence<'a>) -> Self {
        let find = |suffix: &str| evidence.find(&format!("{module}.{suffix}"));
        Self { zeros: find("qzeros"), scales: find("scales"), groups: find("g_idx") }
    }
}

/// Dimensions of a packed weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sides {
    pub inputs: u64,
    pub outputs: u64,
    pub groups: u64,
    pub group_size: u64,
    pub scale_type: DType,
    pub zeros: Zeros,
}

impl Sides {
    /// Returns the name of its grouping in variants.
    pub(crate) fn grouping(&self) -> String {
        match self.groups {
            1 => "channel".to_owned(),
            _ => format!("g{}", self.group_size),
        }
    }

    fn bid(self, name: String, variant: String, parts: Vec<Part>) -> Bid {
        let Self { inputs, outputs, groups, group_size, scale_type, zeros } = self;
        let (bits, word_layout) = match zeros {
            Zeros::Stream { bits, .. } => (bits, WordLayout::Inputs),
            Zeros::Interleaved => (4, WordLayout::Outputs),
        };
        let columns = Columns {
            codes: plain_codes(bits),
            word_layout,
            inputs,
            outputs,
            groups,
            group_size,
            scale_type,
            zeros,
            indexed: parts.iter().any(|part| part.role == "g_idx"),
        };
        Bid {
            name,
            shape: [outputs, inputs].into_iter().collect(),
            variant: variant.into(),
            native: Some(scale_type),
            parts,
            recipe: Ok(Arc::new(columns)),
        }
    }
}

/// Bids for the weight of a module, or rejects it with a finding about its codes.
pub(crate) fn bid_or_refuse(
    (module, qweight): (&str, &TensorInfo),
    parts: Vec<Part>,
    decided: Result<(Sides, String), (&'static str, String)>,
    bids: &mut Bids,
) {
    let name = format!("{module}.weight");
    match decided {
        Ok((sides, variant)) => bids.weights.push(sides.bid(name, variant, parts)),
        Err((kind, reason)) => {
            let bid = Bid::refused(name, qweight.shape.clone(), parts, &reason);
            bids.refuse(qweight, kind, bid);
        }
    }
}

/// Returns the type of the scales, which must be a float type.
pub(crate) fn scale_type(scales: &TensorInfo) -> Result<DType, String> {
    match scales.stored {
        StoredType::Element(t @ (DType::F16 | DType::BF16 | DType::F32)) => Ok(t),
        ref other => Err(format!("scales are {}, expected a float type", other.name())),
    }
}
