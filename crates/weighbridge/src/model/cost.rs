//! What a model costs beside its headers: weights, problems, and the lists that verbs make of them.
//!
//! A small file can list one tensor under millions of names, so these are charged as well.

use super::Model;
use crate::catalog::Finding;
use crate::error::Result;
use crate::limits::Budget;
use crate::schemes::{Bid, Entry, Ledger};
use crate::source::Source;

/// What a stored tensor costs while schemes look at it, and its entry in the ledger.
const LOOKED_AT: u64 = (2 * size_of::<Entry>() + 64) as u64;

/// What a scheme's weight costs beside its texts: parts and a recipe.
const BID: u64 = (size_of::<Bid>() + 256) as u64;

/// Charges for what is made of the sources before anything is known about their weights.
pub(super) fn charge_tensors(sources: &[Source], budget: &Budget) -> Result<()> {
    let mut bytes = 0u64;
    for source in sources {
        let catalog = source.catalog();
        for tensor in &catalog.tensors {
            let refused = tensor.refused.as_deref().map_or(0, |reason| {
                let text = reason.len().saturating_add(tensor.name.len());
                (2 * size_of::<Finding>() as u64).saturating_add(2 * text as u64)
            });
            bytes = bytes.saturating_add(LOOKED_AT).saturating_add(refused);
        }
        bytes = catalog.findings.iter().map(Finding::cost).fold(bytes, u64::saturating_add);
    }
    budget.charge_many(bytes, "the list of weights")
}

/// Charges for what schemes made of the tensors.
pub(super) fn charge_ledger(ledger: &Ledger, budget: &Budget) -> Result<()> {
    let bids = ledger.weights.iter().filter_map(|entry| match entry {
        Entry::Scheme(_, bid) => Some(BID.saturating_add(bid.name.len() as u64)),
        Entry::Plain(_) => None,
    });
    let dropped = ledger.dropped.iter().map(|(_, reason)| 64 + reason.len() as u64);
    let findings = ledger.findings.iter().map(|finding| finding.cost().saturating_mul(2));
    let bytes = bids.chain(dropped).chain(findings).fold(0, u64::saturating_add);
    budget.charge_many(bytes, "the list of weights")
}

impl Model {
    /// An error if a list with `each` bytes for every weight, and `names` copies of its name, would
    /// take more than the limits leave.
    pub(crate) fn check_list(&self, each: u64, names: u64, what: &str) -> Result<()> {
        let weights = 0..self.0.ledger.weights.len();
        let cost =
            |index| each.saturating_add(names.saturating_mul(self.name_at(index).len() as u64));
        self.check_beside(weights.map(cost).fold(0, u64::saturating_add), what)
    }

    /// An error if something of so many bytes would take more than the limits leave.
    pub(crate) fn check_beside(&self, bytes: u64, what: &str) -> Result<()> {
        self.0
            .files
            .budget
            .check_beside(bytes, what)
            .map_err(|error| error.in_file(&self.0.files.path))
    }
}
