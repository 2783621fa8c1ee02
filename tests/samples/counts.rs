//! How much was compared. Nothing compared would be no difference either, so that each kind of
//! comparison has a number it must reach when everything is run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

static COUNTS: Mutex<BTreeMap<&'static str, usize>> = Mutex::new(BTreeMap::new());
static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Counts comparisons of a kind in [`LEAST`].
pub fn add(kind: &'static str, count: usize) {
    assert!(LEAST.iter().any(|(known, _)| *known == kind), "{kind} has no number to reach");
    *COUNTS.lock().unwrap().entry(kind).or_default() += count;
}

/// Notes that stretches of a weight of this scheme and variant were read.
pub fn seen(variant: String) {
    SEEN.lock().unwrap().insert(variant);
}

const LEAST: [(&str, usize); 15] = [
    ("models settled", 100),
    ("conversions", 200),
    ("tensors compared after a conversion", 1000),
    ("directories", 4),
    ("fixtures", 50),
    ("files of torch", 20),
    ("safetensors keep", 900),
    ("safetensors auto", 900),
    ("safetensors f32", 900),
    ("gguf keep", 900),
    ("gguf auto", 900),
    ("gguf f32", 900),
    ("npz keep", 900),
    ("npz auto", 900),
    ("npz f32", 900),
];

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

/// Fails where too little was compared.
pub fn check() {
    let counts = COUNTS.lock().unwrap();
    for (kind, least) in LEAST {
        let count = counts.get(kind).copied().unwrap_or(0);
        assert!(count >= least, "{kind}: only {count}, not {least}");
    }
    let seen = SEEN.lock().unwrap();
    for variant in VARIANTS {
        assert!(seen.contains(variant), "{variant} is not in {seen:?}");
    }
}
