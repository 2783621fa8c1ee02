//! Settling the bids: every stored tensor ends as part of one weight, as plain, or as dropped.

use std::collections::HashMap;

use super::{Bid, Bids, Evidence, Scheme, TensorId, plain};
use crate::catalog::{Finding, TensorInfo};
use crate::text::escaped;

/// Who owns what: the outcome of all bids.
#[derive(Default)]
pub struct Ledger {
    /// Weights with the name of the scheme that reads them, in the order of their first part.
    pub weights: Vec<(&'static str, Bid)>,
    /// Stored tensors left out, with the reason.
    pub dropped: Vec<(TensorId, String)>,
    /// What does not fit together.
    pub findings: Vec<Finding>,
}

#[derive(Clone, Copy)]
enum Owner {
    Weight(usize),
    Dropped,
}

/// Lets every scheme bid and settles who gets what.
///
/// A tensor that two weights claim is a finding, and neither gets it: both weights fall back to
/// their plain stored tensors, so the outcome does not depend on the order of the schemes.
#[must_use]
pub fn settle(evidence: &Evidence<'_>, schemes: &[&dyn Scheme]) -> Ledger {
    let mut ledger = Ledger::default();
    let mut claims: Vec<(&'static str, Bid)> = Vec::new();
    for scheme in schemes {
        let mut bids = Bids::default();
        scheme.bid(evidence, &mut bids);
        claims.extend(bids.weights.into_iter().map(|bid| (scheme.name(), bid)));
        ledger.dropped.extend(bids.dropped);
        ledger.findings.extend(bids.findings);
    }
    let contested = find_contested(evidence, &claims, &ledger.dropped, &mut ledger.findings);
    let mut owners: HashMap<TensorId, Owner, foldhash::fast::RandomState> = HashMap::default();
    ledger.dropped.retain(|(tensor, _)| !contested.contains_key(tensor));
    for (tensor, _) in &ledger.dropped {
        owners.insert(*tensor, Owner::Dropped);
    }
    claims.retain(|(_, bid)| !bid.parts.iter().any(|part| contested.contains_key(&part.tensor)));
    for (index, (_, bid)) in claims.iter().enumerate() {
        for part in &bid.parts {
            owners.insert(part.tensor, Owner::Weight(index));
        }
    }
    let mut claims: Vec<Option<(&'static str, Bid)>> = claims.into_iter().map(Some).collect();
    for &(id, info) in evidence.tensors() {
        match owners.get(&id) {
            Some(Owner::Weight(index)) => ledger.weights.extend(claims[*index].take()),
            Some(Owner::Dropped) => {}
            None => ledger.weights.push((plain::NAME, plain::weight(id, info))),
        }
    }
    ledger.dropped.sort_by_key(|(tensor, _)| *tensor);
    ledger
}

/// Tensors that more than one bid asks for.
fn find_contested<'a>(
    evidence: &Evidence<'a>,
    claims: &[(&'static str, Bid)],
    dropped: &[(TensorId, String)],
    findings: &mut Vec<Finding>,
) -> HashMap<TensorId, (), foldhash::fast::RandomState> {
    let mut wanted: HashMap<TensorId, Vec<String>, foldhash::fast::RandomState> = HashMap::default();
    for (scheme, bid) in claims {
        for part in &bid.parts {
            let claim = format!("{scheme} (as {} of {})", part.role, escaped(&bid.name));
            wanted.entry(part.tensor).or_default().push(claim);
        }
    }
    for (tensor, reason) in dropped {
        wanted.entry(*tensor).or_default().push(format!("a drop ({reason})"));
    }
    let mut contested = HashMap::default();
    for &(id, info) in evidence.tensors() {
        let Some(claims) = wanted.get(&id).filter(|claims| claims.len() > 1) else { continue };
        let mut claims = claims.clone();
        claims.sort();
        findings.push(contested_finding(info, &claims));
        contested.insert(id, ());
    }
    contested
}

fn contested_finding(info: &TensorInfo, claims: &[String]) -> Finding {
    Finding::of(
        &info.name,
        "contested",
        format!("claimed more than once: {}; say which with --scheme", claims.join(", ")),
    )
}
