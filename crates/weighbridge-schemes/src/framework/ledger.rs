//! The outcome of settling all bids.

use crate::catalog::Finding;
use crate::framework::{Bid, TensorId};

/// The owner of every stored tensor, after all bids are settled.
#[derive(Default)]
pub struct Ledger {
    /// Weights, in the order of their first stored tensor.
    pub weights: Vec<Entry>,
    /// Dropped tensors, with the reason.
    pub dropped: Vec<(TensorId, String)>,
    /// Contradictions and missing tensors.
    pub findings: Vec<Finding>,
    /// Decisions made on the user's behalf.
    pub notes: Vec<String>,
    /// The method that the configs name although no tensor is quantized.
    pub stale: Option<String>,
}

/// A weight in the ledger.
pub enum Entry {
    /// A stored tensor that no scheme bid for. It is its own weight.
    Plain(TensorId),
    /// A weight that a scheme builds from stored tensors, with the scheme's name.
    Scheme(&'static str, Box<Bid>),
}
