//! Names of a weight's companions.

use crate::framework::{Evidence, StoredTensor};

/// Returns the module of a weight: `a.b` for `a.b.weight`. A parameter with another name is its own
/// module.
pub(super) fn module_of(name: &str) -> &str {
    name.strip_suffix(".weight").unwrap_or(name)
}

/// Returns the scales of a weight, with the suffix of their name.
pub(super) fn scales_of<'a>(
    evidence: &Evidence<'a>,
    name: &str,
) -> Vec<(&'static str, StoredTensor<'a>)> {
    const AFTER_ANY: [&str; 2] = ["_scale_inv", "_scale"];
    const AFTER_MODULE: [&str; 3] = [".scale_weight", ".qscale_weight", ".scale"];
    // Parameters of ModelOpt's fused experts, and others not called `weight`.
    const AFTER_PARAMETER: [&str; 2] = ["_weight_scale", "_weight_scale_inv"];
    let module = module_of(name);
    let find = |stem: &str, ending: &'static str| {
        evidence.beside(stem, ending).map(|found| (ending, found))
    };
    let any = AFTER_ANY.iter().filter_map(|&ending| find(name, ending));
    let others: &[&'static str] = if module == name { &AFTER_PARAMETER } else { &AFTER_MODULE };
    any.chain(others.iter().filter_map(|&ending| find(module, ending))).collect()
}
