//! Who gets which stored tensor: the same in any order of the schemes, each exactly once.

use std::collections::HashMap;

use weighbridge::Model;
use weighbridge::internals::schemes::{
    Bids, Entry, Evidence, Ledger, Registry, SCHEMES, Scheme, TensorId,
};

use super::{stored, tensor_bytes};

/// What `look` makes of the evidence of a model.
fn with_evidence<T>(model: &Model, look: impl FnOnce(&Evidence<'_>) -> T) -> T {
    let sources = model.sources();
    let catalogs = sources.iter().map(|s| (&s.catalog().tensors[..], &s.catalog().metadata));
    let read = |id: TensorId| {
        let source = &sources[id.source as usize];
        tensor_bytes(source, &source.catalog().tensors[id.tensor as usize])
    };
    look(&Evidence::new(catalogs, model.configs(), SCHEMES).reading(&read))
}

/// The ledger of a model under some order of the schemes.
fn ledger(model: &Model, schemes: Registry<'_>) -> Ledger {
    with_evidence(model, |evidence| schemes.settle(evidence))
}

/// A scheme whose `may_bid` says no must not bid or report anything.
fn check_may_bid(name: &str, model: &Model) {
    with_evidence(model, |evidence| {
        let summary = evidence.summary();
        for scheme in SCHEMES.iter().filter(|scheme| !scheme.may_bid(&summary)) {
            let mut bids = Bids::default();
            scheme.bid(evidence, &mut bids);
            let said = (bids.weights.len(), bids.dropped.len(), bids.findings.len());
            assert_eq!(said, (0, 0, 0), "{name}: {} says it has nothing to bid for", scheme.name());
        }
    });
}

/// A ledger as lines of text.
fn lines(ledger: &Ledger) -> Vec<String> {
    let weight = |entry: &Entry| match entry {
        Entry::Plain(id) => format!("plain {id:?}"),
        Entry::Scheme(scheme, bid) => format!(
            "{scheme} {} {:?} {} {:?} {:?} {:?}",
            bid.name,
            bid.shape,
            bid.variant,
            bid.native,
            bid.parts,
            bid.recipe.as_ref().err()
        ),
    };
    let mut lines: Vec<String> = ledger.weights.iter().map(weight).collect();
    lines.extend(ledger.dropped.iter().map(|dropped| format!("{dropped:?}")));
    let mut findings: Vec<String> = ledger.findings.iter().map(|f| format!("{f:?}")).collect();
    findings.sort();
    lines.extend(findings);
    lines
}

/// How often each stored tensor occurs.
fn uses(ledger: &Ledger) -> HashMap<TensorId, usize> {
    let mut uses = HashMap::new();
    let mut used = |id: TensorId| *uses.entry(id).or_insert(0) += 1;
    for entry in &ledger.weights {
        match entry {
            Entry::Plain(id) => used(*id),
            Entry::Scheme(_, bid) => bid.parts.iter().for_each(|part| used(part.tensor)),
        }
    }
    ledger.dropped.iter().for_each(|(id, _)| used(*id));
    uses
}

/// Every stored tensor is used once, in any order of the schemes.
pub fn check_ledger(name: &str, model: &Model) {
    check_may_bid(name, model);
    let forwards = ledger(model, SCHEMES);
    let reversed: Vec<&dyn Scheme> = SCHEMES.iter().rev().collect();
    let backwards = ledger(model, Registry::new(&reversed));
    assert_eq!(lines(&forwards), lines(&backwards), "{name}: the order of the schemes matters");
    let uses = uses(&forwards);
    let all = stored(model).count();
    assert_eq!(uses.len(), all, "{name}: {} of {all} stored tensors are accounted for", uses.len());
    let twice: Vec<_> = uses.iter().filter(|(_, count)| **count != 1).collect();
    assert!(twice.is_empty(), "{name}: used more than once: {twice:?}");
}
