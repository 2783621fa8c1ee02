//! Formats that are recognised and refused: two sparse ones, and one of packed tiles.
//!
//! ```text
//! sparse-bitmask      P.shape I64 [2, 1]  P.compressed [values]         P.bitmask U8 [out, in / 8]  P.row_offsets I64 [out, 1]
//! sparse-24-bitmask   P.shape I64 [2, 1]  P.compressed [out, in / 2]    P.bitmask U8 [out, in / 8]
//! marlin-24           P.weight_packed I32  P.scale_packed F16  P.meta I16
//! ```

use super::COMPANIONS;
use super::module::Module;
use crate::catalog::Finding;
use crate::framework::parts::parts_of;
use crate::framework::{Bid, Bids, Evidence, Part, StoredTensor, TensorId};

/// Refuses a weight whose values are those that a bit mask lets through.
pub(super) fn bid_for(
    name: &str,
    mask: StoredTensor<'_>,
    evidence: &Evidence<'_>,
    bids: &mut Bids,
) {
    let find = |suffix: &str| evidence.find(&format!("{name}.{suffix}"));
    let Some(values) = find("compressed") else {
        if find("shape").is_some() {
            let message = format!("its values, {name}.compressed, are missing");
            bids.findings.push(Finding::of(&mask.1.name, "orphan", message));
        }
        return;
    };
    let offsets = find("row_offsets");
    let variant = if offsets.is_some() { "sparse-bitmask" } else { "sparse-24-bitmask" };
    let own = [("weight", Some(values)), ("mask", Some(mask)), ("shape", find("shape"))];
    let others = COMPANIONS.map(|role| (role, find(role)));
    let parts = parts_of(own.into_iter().chain([("row offsets", offsets)]).chain(others));
    let info = values.1;
    let reason = format!("format {variant} is not supported");
    let bid = Bid::refused(format!("{name}.weight"), info.shape.clone(), parts, &reason);
    bids.refuse(info, "undecodable", Bid { variant: variant.into(), ..bid });
}

/// Refuses a weight in the tiles of a GPU kernel, whose own library never decodes it.
pub(super) fn refuse_marlin(
    module: &Module<'_, '_>,
    scale: TensorId,
    meta: TensorId,
    bids: &mut Bids,
) {
    module.refuse("undecodable", "format marlin-24 is not supported", bids);
    if let Some(bid) = bids.weights.last_mut() {
        bid.variant = "marlin-24".into();
        bid.parts.push(Part { role: "scale", tensor: scale });
        bid.parts.push(Part { role: "meta", tensor: meta });
    }
}
