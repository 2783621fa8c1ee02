//! Who owns what, once all bids are settled.

use crate::catalog::Finding;
use crate::framework::{Bid, TensorId};

/// Who owns what: the outcome of all bids.
#[derive(Default)]
pub struct Ledger {
    /// Weights, in the order of their first stored tensor.
    pub weights: Vec<Entry>,
    /// Stored tensors left out, with the reason.
    pub dropped: Vec<(TensorId, String)>,
    /// What does not fit together.
    pub findings: Vec<Finding>,
    /// What was decided on the user's behalf.
    pub notes: Vec<String>,
    /// The method that the configs name although no tensor is quantized.
    pub stale: Option<String>,
}

/// One weight of the ledger.
pub enum Entry {
    /// A stored tensor that no scheme bid for: it is its own weight.
    Plain(TensorId),
    /// A scheme, by name, and what it makes of some stored tensors.
    Scheme(&'static str, Box<Bid>),
}
