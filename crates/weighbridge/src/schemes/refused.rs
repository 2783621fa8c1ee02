//! Weights that are known to be weights, and cannot be decoded.

use super::{Bid, Bids, Part};
use crate::catalog::{Finding, Shape, TensorInfo};

impl Bid {
    /// A weight for which nothing is decided, because of `reason`.
    pub(super) fn refused(
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
    /// Takes a refused weight, and makes its reason a finding about the tensor `at`.
    pub(super) fn refuse(&mut self, at: &TensorInfo, kind: &'static str, bid: Bid) {
        if let Err(reason) = &bid.recipe {
            self.findings.push(Finding::of(&at.name, kind, &**reason));
        }
        self.weights.push(bid);
    }

    /// The same for a weight that has the name and the shape of its tensor.
    pub(super) fn refuse_tensor(&mut self, info: &TensorInfo, parts: Vec<Part>, reason: &str) {
        let bid = Bid::refused(&*info.name, info.shape.clone(), parts, reason);
        self.refuse(info, "undecodable", bid);
    }
}
