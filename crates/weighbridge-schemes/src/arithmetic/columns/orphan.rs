//! Companions whose packed weight is missing.

use crate::catalog::{Finding, TensorInfo};
use crate::framework::{Bids, Evidence};

/// Reports a companion whose `qweight` is missing. `own` is its module, if its name is unambiguous.
/// Many schemes have `scales`, so they count only if the config mentions such weights (`said`) or
/// zero points exist too.
pub(crate) fn check_orphan(
    own: Option<&str>,
    info: &TensorInfo,
    said: bool,
    evidence: &Evidence<'_>,
    bids: &mut Bids,
) {
    let there = |module: &str, end: &str| evidence.find(&format!("{module}.{end}")).is_some();
    let scales = info.name.strip_suffix(".scales").filter(|module| {
        let matrix = info.shape.len() == 2 && !there(module, "weight");
        there(module, "qzeros") || said && matrix
    });
    if own.or(scales).is_some_and(|module| !there(module, "qweight")) {
        let message = "its packed weight, `qweight`, is not in the model; a shard may be missing";
        bids.findings.push(Finding::of(&info.name, "orphan", message.to_owned()));
    }
}
