//! Rows yield to schemes that decode what they know.

use super::{KINDS, Known, kinds, undecoded};
use crate::catalog::Metadata;
use crate::dtype::DType;
use crate::framework::testing::tensors;
use crate::framework::{Bids, Evidence, Method, Registry, Scheme, Summary};

/// A scheme that says what it is, and nothing else.
struct Says(&'static str, &'static [Method]);

impl Scheme for Says {
    fn name(&self) -> &'static str {
        self.0
    }
    fn methods(&self) -> &'static [Method] {
        self.1
    }
    fn may_bid(&self, _: &Summary<'_, '_>) -> bool {
        false
    }
    fn bid(&self, _: &Evidence<'_>, _: &mut Bids) {}
}

/// No scheme but the one with the rows.
const ALONE: Registry<'static> = Registry::new(&[&Known]);

#[test]
fn without_other_schemes_no_row_yields() {
    assert_eq!(undecoded(&ALONE.roster()).count(), KINDS.len());
}

#[test]
fn a_scheme_takes_the_row_of_its_name_or_of_its_method() {
    const METHODS: &[Method] = &[Method { aliases: &["exl3"], ..Method::named("trellis") }];
    let rows = |scheme: &Says| -> Vec<&str> {
        let (schemes, all): ([&dyn Scheme; 2], _) = ([&Known, scheme], kinds(ALONE));
        let now: Vec<&str> = kinds(Registry::new(&schemes)).map(|(name, ..)| name).collect();
        all.map(|(name, ..)| name).filter(|name| !now.contains(name)).collect()
    };
    assert_eq!(rows(&Says("aqlm", &[])), ["aqlm"]);
    assert_eq!(rows(&Says("other", METHODS)), ["exl3", "exl3"]);
    assert!(rows(&Says("other", &[])).is_empty());
}

#[test]
fn a_row_that_has_yielded_is_not_bid_for() {
    let stored = tensors(&[
        ("a.codes", DType::I16, &[4, 2, 1]),
        ("a.codebooks", DType::F16, &[1, 256, 1, 8]),
        ("a.scales", DType::F16, &[4, 1, 1, 1]),
    ]);
    let (metadata, own) = (Metadata::default(), Says("aqlm", &[]));
    let bids = |schemes| {
        let catalog = std::iter::once((&stored[..], &metadata));
        let (mut bids, evidence) = (Bids::default(), Evidence::new(catalog, &[], schemes));
        let may = Known.may_bid(&evidence.summary());
        Known.bid(&evidence, &mut bids);
        (may, bids.weights.len())
    };
    assert_eq!(bids(ALONE), (true, 1));
    assert_eq!(bids(Registry::new(&[&Known, &own])), (false, 0));
}
