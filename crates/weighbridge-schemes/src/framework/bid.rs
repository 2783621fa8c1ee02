//! A scheme's claims on a model: weights, dropped tensors and findings.

use std::sync::Arc;

use crate::catalog::{Finding, Shape, TensorInfo};
use crate::dtype::DType;
use crate::error::Result;
use crate::framework::{Recipe, TensorId};

/// A stored tensor and its role in a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Role, such as `weight` or `scales`.
    pub role: &'static str,
    /// The stored tensor.
    pub tensor: TensorId,
}

/// A logical weight that a scheme builds from stored tensors.
pub struct Bid {
    /// Name of the weight.
    pub name: String,
    /// Logical shape.
    pub shape: Shape,
    /// Variant within the scheme, such as `4bit-g128`.
    pub variant: Arc<str>,
    /// Type that the scheme's reference library decodes to.
    pub native: Option<DType>,
    /// Stored tensors that the weight consists of.
    pub parts: Vec<Part>,
    /// Recipe for decoding, or the reason why the weight cannot be decoded.
    pub recipe: Result<Arc<dyn Recipe>, Arc<str>>,
}

/// All claims of one scheme on a model.
#[derive(Default)]
pub struct Bids {
    /// Weights.
    pub weights: Vec<Bid>,
    /// Stored tensors that no weight needs, with the reason.
    pub dropped: Vec<(TensorId, String)>,
    /// Contradictions and missing tensors.
    pub findings: Vec<Finding>,
}

impl Bid {
    /// Creates a weight that cannot be decoded because of `reason`.
    pub(crate) fn refused(
        name: impl Into<String>,
        shape: Shape,
        parts: Vec<Part>,
        reason: &str,
    ) -> Self {
        Self {
            name: name.into(),
            shape,
            variant: "undecided".into(),
            native: None,
            parts,
            recipe: Err(reason.into()),
        }
    }
}

impl Bids {
    /// Adds a rejected weight, with its reason as a finding about the tensor `at`.
    pub(crate) fn refuse(&mut self, at: &TensorInfo, kind: &'static str, bid: Bid) {
        if let Err(reason) = &bid.recipe {
            self.findings.push(Finding::of(&at.name, kind, &**reason));
        }
        self.weights.push(bid);
    }

    /// Rejects a weight with the name and the shape of its tensor.
    pub(crate) fn refuse_tensor(&mut self, info: &TensorInfo, parts: Vec<Part>, reason: &str) {
        let bid = Bid::refused(&*info.name, info.shape.clone(), parts, reason);
        self.refuse(info, "undecodable", bid);
    }
}
