//! What a scheme says about a model: weights, tensors that no weight needs, and findings.

use std::sync::Arc;

use crate::catalog::{Finding, Shape, TensorInfo};
use crate::dtype::DType;
use crate::error::Result;
use crate::framework::{Recipe, TensorId};

/// One stored tensor's part in a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it does there: `weight`, `scales`, ..
    pub role: &'static str,
    /// Which tensor.
    pub tensor: TensorId,
}

/// One logical weight: what a scheme makes of some stored tensors.
pub struct Bid {
    /// The weight's name.
    pub name: String,
    /// Its logical shape.
    pub shape: Shape,
    /// The kind within the scheme, such as `4bit-g128`.
    pub variant: Arc<str>,
    /// The type its canonical library decodes it to.
    pub native: Option<DType>,
    /// What it is made of.
    pub parts: Vec<Part>,
    /// How it is decoded; an explanation where it cannot be.
    pub recipe: Result<Arc<dyn Recipe>, Arc<str>>,
}

/// What a scheme makes of a model.
#[derive(Default)]
pub struct Bids {
    /// Weights.
    pub weights: Vec<Bid>,
    /// Stored tensors that no weight needs, with the reason.
    pub dropped: Vec<(TensorId, String)>,
    /// What does not fit together.
    pub findings: Vec<Finding>,
}

impl Bid {
    /// A weight that cannot be decoded because of `reason`.
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
    /// Adds a refused weight, and its reason as a finding about the tensor `at`.
    pub(crate) fn refuse(&mut self, at: &TensorInfo, kind: &'static str, bid: Bid) {
        if let Err(reason) = &bid.recipe {
            self.findings.push(Finding::of(&at.name, kind, &**reason));
        }
        self.weights.push(bid);
    }

    /// Refuses a weight that has the name and the shape of its tensor.
    pub(crate) fn refuse_tensor(&mut self, info: &TensorInfo, parts: Vec<Part>, reason: &str) {
        let bid = Bid::refused(&*info.name, info.shape.clone(), parts, reason);
        self.refuse(info, "undecodable", bid);
    }
}
