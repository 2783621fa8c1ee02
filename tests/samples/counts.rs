//! How much was compared. A test that compares nothing passes too, so each kind of comparison has a
//! count that a full run must reach.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use crate::written;

static COUNTS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());
static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Counts comparisons of a kind in [`least`].
pub fn add(kind: &str, count: usize) {
    assert!(least().any(|(known, _)| known == kind), "{kind} has no number to reach");
    *COUNTS.lock().unwrap().entry(kind.to_owned()).or_default() += count;
}

/// Notes that stretches of a weight of this scheme and variant were read.
pub fn seen(variant: String) {
    SEEN.lock().unwrap().insert(variant);
}

const LEAST: [(&str, usize); 6] = [
    ("models settled", 100),
    ("conversions", 200),
    ("tensors compared after a conversion", 1000),
    ("directories", 4),
    ("fixtures", 50),
    ("files of torch", 20),
];

/// For each format that samples are written in, and each way.
const LEAST_WRITTEN: usize = 900;

/// The kinds of comparisons, and how many of each there must be.
fn least() -> impl Iterator<Item = (String, usize)> {
    let written = written::formats().flat_map(|writer| {
        written::AS.map(|(_, word)| (format!("{} {word}", writer.format()), LEAST_WRITTEN))
    });
    LEAST.iter().map(|(kind, least)| ((*kind).to_owned(), *least)).chain(written)
}

const VARIANTS: [&str; 9] = [
    "plain/F64",
    "ggml/Q4_K",
    "ggml/NVFP4",
    "apr/Q4_K",
    "apr/APR_Q8",
    "apr/APR_Q4",
    "mlx/3bit-g32",
    "mlx/nvfp4",
    "mlx/mxfp8",
];

/// Fails if too little was compared.
pub fn check() {
    let counts = COUNTS.lock().unwrap();
    for (kind, least) in least() {
        let count = counts.get(&kind).copied().unwrap_or(0);
        assert!(count >= least, "{kind}: only {count}, not {least}");
    }
    let seen = SEEN.lock().unwrap();
    for variant in VARIANTS {
        assert!(seen.contains(variant), "{variant} is not in {seen:?}");
    }
}
