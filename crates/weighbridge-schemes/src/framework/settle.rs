//! Settles the bids: every stored tensor becomes part of one weight, is plain, or is dropped.
//! Unclaimed tensors are plain only if nothing contradicts that (`unclaimed`).

use std::collections::{BTreeMap, HashSet};

use crate::catalog::{Finding, TensorInfo, element_count};
use crate::framework::activation_scales::Says;
use crate::framework::unclaimed::{self, State};
use crate::framework::{Bid, Bids, Entry, Evidence, Ledger, Registry, Scheme, TensorId, stale};
use crate::text::escaped;

/// Maximum number of claims on one tensor that a message lists.
const MOST_CLAIMS: usize = 6;

/// The owner of a stored tensor.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Nobody,
    Weight(usize),
    Dropped,
    Contested,
}

impl Registry<'_> {
    /// Lets every scheme bid, and settles the ownership of all stored tensors.
    ///
    /// A tensor claimed by two bids is a finding, and neither bid gets it. Both fall back to their
    /// plain stored tensors, so the outcome does not depend on the order of the schemes.
    #[must_use]
    pub fn settle(self, evidence: &Evidence<'_>) -> Ledger {
        let summary = evidence.summary();
        let bidders = || self.iter().filter(|scheme| scheme.may_bid(&summary));
        let nobody_bids = bidders().next().is_none();
        if nobody_bids && !unclaimed::may_bid(&summary) && evidence.choices.are_none() {
            let plain = evidence.tensors().iter().map(|&(id, _)| Entry::Plain(id));
            return Ledger { weights: plain.collect(), ..Ledger::default() };
        }
        settle_by_bids(evidence, bidders())
    }
}

fn settle_by_bids<'s>(
    evidence: &Evidence<'_>,
    schemes: impl Iterator<Item = &'s dyn Scheme>,
) -> Ledger {
    let mut of = Settlement { evidence, claims: Vec::new(), ledger: Ledger::default() };
    for scheme in schemes {
        let mut bids = Bids::default();
        scheme.bid(evidence, &mut bids);
        refuse_uncountable(&mut bids);
        of.claims.extend(bids.weights.into_iter().map(|bid| Some((scheme.name(), bid))));
        of.ledger.dropped.extend(bids.dropped);
        of.ledger.findings.extend(bids.findings);
    }
    let says = Says::of(evidence);
    // Two schemes that drop the same tensor agree; one reason is enough, in any order.
    of.ledger.dropped.sort();
    of.ledger.dropped.dedup_by_key(|(tensor, _)| *tensor);
    of.bid_for_unclaimed(says);
    if of.claims.is_empty() && !evidence.tensors().is_empty() && says.weights {
        stale::judge(evidence, &mut of.ledger);
    }
    if !of.claims.is_empty() && evidence.configs().contradict() {
        of.ledger.findings.push(several_settings());
    }
    let mut owners = of.first_owners();
    of.drop_contested(&mut owners);
    let Settlement { mut claims, mut ledger, .. } = of;
    ledger.weights.reserve(evidence.tensors().len());
    for &(id, _) in evidence.tensors() {
        match owners[evidence.index(id)] {
            Owner::Weight(index) => {
                let claim = claims[index].take();
                ledger
                    .weights
                    .extend(claim.map(|(scheme, bid)| Entry::Scheme(scheme, Box::new(bid))));
            }
            Owner::Dropped => {}
            Owner::Nobody | Owner::Contested => ledger.weights.push(Entry::Plain(id)),
        }
    }
    ledger.dropped.sort();
    let decided = ledger.weights.iter().filter_map(|entry| match entry {
        Entry::Scheme(scheme, bid) => Some((&*bid.name, *scheme)),
        Entry::Plain(_) => None,
    });
    let unused = evidence.choices.unused(decided);
    ledger.findings.extend(unused);
    ledger
}

/// Drops bids for weights whose element count overflows. Only a damaged file or config states such
/// shapes.
fn refuse_uncountable(bids: &mut Bids) {
    let Bids { weights, findings, .. } = bids;
    weights.retain(|bid| {
        let counted = element_count(&bid.shape).is_some();
        if !counted {
            let message =
                format!("its shape would be {:?}, which has too many elements to count", bid.shape);
            findings.push(Finding::of(&bid.name, "undecodable", message));
        }
        counted
    });
}

/// Creates a finding for a config with different settings for its models: tensor names do not tell
/// which settings apply.
fn several_settings() -> Finding {
    let message = "the models in config.json have different quantization settings, and weights \
                   cannot be assigned to them; convert each model from its own directory";
    Finding::general("bad-config", message.to_owned())
}

/// All bids and the outcome so far.
struct Settlement<'e, 'a> {
    evidence: &'e Evidence<'a>,
    claims: Vec<Option<(&'static str, Bid)>>,
    ledger: Ledger,
}

impl Settlement<'_, '_> {
    /// Handles unclaimed tensors that must not be read as plain numbers.
    fn bid_for_unclaimed(&mut self, says: Says) {
        let owners = self.first_owners();
        let state = |id| match owners[self.evidence.index(id)] {
            Owner::Nobody => State::Free,
            Owner::Weight(claim) => match &self.claims[claim] {
                Some((_, bid)) if bid.recipe.is_ok() => State::Decoded,
                _ => State::Settled,
            },
            Owner::Dropped | Owner::Contested => State::Settled,
        };
        let quantized = says.weights || !self.claims.is_empty();
        let left = unclaimed::bid(self.evidence, says, quantized, &state);
        self.claims.extend(left.weights.into_iter().map(|bid| Some((unclaimed::NAME, bid))));
        self.ledger.dropped.extend(left.dropped);
        // A scheme that already has a finding about a tensor needs no second one.
        let findings = &mut self.ledger.findings;
        let found: HashSet<_> = findings.iter().map(|finding| &finding.tensor).collect();
        let new = |finding: &Finding| !found.contains(&finding.tensor);
        let more: Vec<Finding> = left.findings.into_iter().filter(new).collect();
        findings.extend(more);
    }

    /// Returns the claimant of each stored tensor; contested if there are two.
    fn first_owners(&self) -> Vec<Owner> {
        let mut owners = vec![Owner::Nobody; self.evidence.tensors().len()];
        let mut ask = |tensor: TensorId, owner| {
            let slot = &mut owners[self.evidence.index(tensor)];
            *slot = if *slot == Owner::Nobody { owner } else { Owner::Contested };
        };
        for (index, claim) in self.claims.iter().enumerate() {
            let parts = claim.iter().flat_map(|(_, bid)| &bid.parts);
            parts.for_each(|part| ask(part.tensor, Owner::Weight(index)));
        }
        self.ledger.dropped.iter().for_each(|(tensor, _)| ask(*tensor, Owner::Dropped));
        owners
    }

    /// Drops every bid that needs a contested tensor, with a finding for each such tensor.
    fn drop_contested(&mut self, owners: &mut [Owner]) {
        for (id, claims) in self.claims_on_contested(owners) {
            let (_, info) = self.evidence.tensors()[self.evidence.index(id)];
            self.ledger.findings.push(contested_finding(info, &claims));
        }
        let index = |id| self.evidence.index(id);
        for claim in &mut self.claims {
            let Some((_, bid)) = claim else { continue };
            if bid.parts.iter().any(|part| owners[index(part.tensor)] == Owner::Contested) {
                for part in &bid.parts {
                    let owner = &mut owners[index(part.tensor)];
                    // Contested tensors stay contested for the other bids that claim them.
                    *owner = if *owner == Owner::Contested { *owner } else { Owner::Nobody };
                }
                *claim = None;
            }
        }
        self.ledger.dropped.retain(|(id, _)| owners[index(*id)] == Owner::Dropped);
    }

    /// Returns every contested tensor with its claimants.
    fn claims_on_contested(&self, owners: &[Owner]) -> BTreeMap<TensorId, Vec<String>> {
        let mut all = BTreeMap::<TensorId, Vec<String>>::new();
        let mut ask = |tensor: TensorId, claim: &dyn Fn() -> String| {
            if owners[self.evidence.index(tensor)] == Owner::Contested {
                all.entry(tensor).or_default().push(claim());
            }
        };
        for (scheme, bid) in self.claims.iter().flatten() {
            for part in &bid.parts {
                let claim = || format!("{scheme} (as {} of {})", part.role, escaped(&bid.name));
                ask(part.tensor, &claim);
            }
        }
        for (tensor, reason) in &self.ledger.dropped {
            ask(*tensor, &|| format!("a scheme that drops it ({reason})"));
        }
        all.values_mut().for_each(|claims| claims.sort());
        all
    }
}

fn contested_finding(info: &TensorInfo, claims: &[String]) -> Finding {
    let more = match claims.len().saturating_sub(MOST_CLAIMS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = claims[..claims.len().min(MOST_CLAIMS)].join(", ");
    Finding::of(
        &info.name,
        "contested",
        format!("claimed more than once, so it is left as stored: {shown}{more}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::testing::{SCHEMES, config, evidence, tensor};
    use crate::framework::{Method, Part, Summary};

    fn tensors() -> Vec<TensorInfo> {
        ["a", "b", "c", "d"].map(|name| tensor(name, crate::dtype::DType::F32, &[2])).into()
    }

    /// Bids for a group of tensors by position.
    struct Wants(&'static str, &'static [u32]);

    impl Scheme for Wants {
        fn name(&self) -> &'static str {
            self.0
        }
        fn methods(&self) -> &'static [Method] {
            &[]
        }
        fn may_bid(&self, _: &Summary<'_, '_>) -> bool {
            true
        }
        fn bid(&self, _: &Evidence<'_>, bids: &mut Bids) {
            let part = |&tensor| Part { role: "part", tensor: TensorId { source: 0, tensor } };
            bids.weights.push(Bid {
                name: self.0.into(),
                shape: [2].into_iter().collect(),
                variant: "".into(),
                native: None,
                parts: self.1.iter().map(part).collect(),
                recipe: Err("none".into()),
            });
        }
    }

    /// Leaves one tensor out, for the reason that is its name.
    struct Drops(&'static str, u32);

    impl Scheme for Drops {
        fn name(&self) -> &'static str {
            self.0
        }
        fn methods(&self) -> &'static [Method] {
            &[]
        }
        fn may_bid(&self, _: &Summary<'_, '_>) -> bool {
            true
        }
        fn bid(&self, _: &Evidence<'_>, bids: &mut Bids) {
            bids.dropped.push((TensorId { source: 0, tensor: self.1 }, self.0.to_owned()));
        }
    }

    fn outcome(schemes: &[&dyn Scheme]) -> (Vec<String>, usize) {
        let tensors = tensors();
        let evidence = evidence(&tensors, &[]);
        let ledger = Registry::new(schemes).settle(&evidence);
        let name = |entry: &Entry| match entry {
            Entry::Plain(id) => format!("plain {}", id.tensor),
            Entry::Scheme(name, _) => (*name).to_owned(),
        };
        (ledger.weights.iter().map(name).collect(), ledger.findings.len())
    }

    #[test]
    fn a_quantized_model_that_nobody_knows_is_a_finding() {
        let tensors = tensors();
        let json = serde_json::json!({ "quantization_config": { "quant_method": "odd" } });
        let configs = [config(json)];
        let evidence = evidence(&tensors, &configs);
        let kinds = |schemes: &[&dyn Scheme]| -> Vec<&str> {
            Registry::new(schemes)
                .settle(&evidence)
                .findings
                .iter()
                .map(|finding| finding.kind)
                .collect()
        };
        assert_eq!(kinds(&[]), ["unknown-scheme"]);
        assert!(kinds(&[&Wants("x", &[0])]).is_empty());
    }

    /// Makes more of a tensor than can be counted.
    struct Boundless;

    impl Scheme for Boundless {
        fn name(&self) -> &'static str {
            "boundless"
        }
        fn methods(&self) -> &'static [Method] {
            &[]
        }
        fn may_bid(&self, _: &Summary<'_, '_>) -> bool {
            true
        }
        fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
            Wants("x", &[0]).bid(evidence, bids);
            bids.weights[0].shape = [1 << 40, 1 << 40].into_iter().collect();
        }
    }

    /// Stores codes as halves and calls them weights, without a word anywhere.
    struct CodesInHalves;

    impl Scheme for CodesInHalves {
        fn name(&self) -> &'static str {
            "halves"
        }
        fn methods(&self) -> &'static [Method] {
            &[]
        }
        fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
            summary.has_type(&[crate::dtype::DType::F16])
        }
        fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
            for &(id, info) in evidence.tensors() {
                let parts = vec![Part { role: "weight", tensor: id }];
                bids.weights.push(Bid::refused(&*info.name, info.shape.clone(), parts, "codes"));
            }
        }
    }

    /// No scheme depends on what others take for plain.
    #[test]
    fn a_scheme_of_plain_names_and_types_is_asked() {
        let halves = [tensor("a.weight", crate::dtype::DType::F16, &[2, 2])];
        let floats = [tensor("a.weight", crate::dtype::DType::F32, &[2, 2])];
        let mut schemes = SCHEMES.iter().collect::<Vec<_>>();
        let owner = |tensors: &[TensorInfo], schemes: &[&dyn Scheme]| {
            let ledger = Registry::new(schemes).settle(&evidence(tensors, &[]));
            match &ledger.weights[0] {
                Entry::Plain(_) => "plain",
                Entry::Scheme(name, _) => *name,
            }
        };
        assert_eq!(owner(&halves, &schemes), "plain");
        schemes.push(&CodesInHalves);
        assert_eq!(owner(&halves, &schemes), "halves");
        assert_eq!(owner(&floats, &schemes), "plain");
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        let (weights, findings) = outcome(&[&Boundless]);
        assert_eq!((weights.len(), &*weights[0], findings), (4, "plain 0", 1));
    }

    #[test]
    fn every_tensor_ends_once() {
        let found = outcome(&[&Wants("x", &[2, 0])]);
        assert_eq!(found, (vec!["x".into(), "plain 1".into(), "plain 3".into()], 0));
    }

    #[test]
    fn a_contested_tensor_goes_to_nobody_in_any_order() {
        let (x, y) = (Wants("x", &[0, 1]), Wants("y", &[1, 2]));
        let expected = (0..4).map(|i| format!("plain {i}")).collect::<Vec<_>>();
        assert_eq!(outcome(&[&x, &y]), (expected.clone(), 1));
        assert_eq!(outcome(&[&y, &x]), (expected, 1));
    }

    #[test]
    fn two_who_leave_out_the_same_tensor_agree() {
        let tensors = tensors();
        let evidence = evidence(&tensors, &[]);
        let dropped = |schemes: &[&dyn Scheme]| {
            let ledger = Registry::new(schemes).settle(&evidence);
            assert_eq!((ledger.findings.len(), ledger.weights.len()), (0, 3));
            ledger.dropped
        };
        let (x, y) = (Drops("x", 1), Drops("y", 1));
        let expected = vec![(TensorId { source: 0, tensor: 1 }, "x".to_owned())];
        assert_eq!(dropped(&[&x, &y]), expected);
        assert_eq!(dropped(&[&y, &x]), expected);
        // A weight that needs it does not agree.
        let wants = Wants("z", &[1, 2]);
        let expected = (0..4).map(|i| format!("plain {i}")).collect::<Vec<_>>();
        assert_eq!(outcome(&[&x, &wants, &y]), (expected, 1));
    }
}
