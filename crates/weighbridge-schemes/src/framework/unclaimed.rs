//! Handles unclaimed tensors that must not be read as plain numbers.
//!
//! Integers or small floats with a scale are codes. If no scheme bids for them, the format is
//! unknown, and copying the codes would be silently wrong, so the weight is rejected. A scale whose
//! weight is missing, or was decoded without it, is a finding. Only tensors left after all schemes
//! have bid are considered, so nothing is contested here.

use std::collections::BTreeMap;

use crate::catalog::{Finding, TensorInfo};
use crate::dtype::DType;
use crate::framework::activation_scales::{self, Says};
use crate::framework::{Bid, Bids, Evidence, Part, Summary, TensorId};
use crate::text::escaped;

/// Scheme name of such weights in reports.
pub(crate) const NAME: &str = "unknown";

/// The state of a stored tensor after all schemes have bid.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum State {
    /// Unclaimed.
    Free,
    /// Part of a weight that can be decoded.
    Decoded,
    /// Part of another weight, dropped or contested.
    Settled,
}

/// Whether anything could be left: names typical of scales, or a config that mentions quantization.
pub(crate) fn may_bid(summary: &Summary<'_, '_>) -> bool {
    summary.has_other_names() || summary.configs_mention_quantization()
}

/// Bids for the remaining tensors. `quantized` is whether anything in the model is.
pub(crate) fn bid(
    evidence: &Evidence<'_>,
    says: Says,
    quantized: bool,
    state: &dyn Fn(TensorId) -> State,
) -> Bids {
    let mut bids = Bids::default();
    let mut codes = BTreeMap::<TensorId, Vec<TensorId>>::new();
    for &(id, info) in evidence.tensors() {
        if state(id) != State::Free {
            continue;
        }
        if let Some(reason) = activation_scales::reason(evidence, info, says, quantized) {
            bids.dropped.push((id, reason.to_owned()));
            continue;
        }
        let Some(scale) = Scale::of(&info.name) else { continue };
        // A second tensor of the same name already has a finding.
        if evidence.find(&info.name).is_some_and(|(first, _)| first != id) {
            continue;
        }
        let weight = scale.weights().find_map(|name| evidence.find(&name));
        match weight.map(|(weight, found)| (weight, found, state(weight))) {
            None if scale.is_certainly_a_scale(info, quantized) => {
                bids.findings.push(orphan(info, &scale));
            }
            Some((_, found, State::Decoded)) if scale.is_certain => {
                bids.findings.push(beside_decoded(info, found));
            }
            Some((weight, found, State::Free)) if is_codes(found) => {
                codes.entry(weight).or_default().push(id);
            }
            Some((_, found, State::Free)) if scale.is_certainly_a_scale(info, quantized) => {
                bids.findings.push(beside_numbers(info, found));
            }
            _ => {}
        }
    }
    for (weight, scales) in codes {
        refuse(evidence, weight, &scales, &mut bids);
    }
    bids
}

/// Whether only the scale of a weight has such a name.
pub(crate) fn is_scale_of_weight(name: &str) -> bool {
    Scale::of(name).is_some_and(|scale| scale.is_certain)
}

/// A possible scale name, split into its parts.
#[derive(Debug, PartialEq)]
struct Scale<'a> {
    /// Part of the name before the suffix.
    stem: &'a str,
    /// Whether the stem is a module, whose weight has its own name.
    of_module: bool,
    /// Whether only the scale of a weight has such a name.
    is_certain: bool,
    /// Whether it is certainly a scale even if nothing else in the model is quantized.
    is_lone: bool,
}

impl<'a> Scale<'a> {
    fn of(name: &'a str) -> Option<Self> {
        // Endings of a module's own tensors, and whether they are certain.
        const OF_MODULES: [(&str, bool); 8] = [
            (".scale_weight", true),
            (".qscale_weight", true),
            (".pre_quant_scale", true),
            (".scale_inv", false),
            (".scale", false),
            (".scales", false),
            (".zero_point", false),
            (".zeros", false),
        ];
        const OF_PARAMETERS: [&str; 5] =
            ["_scale_inv", "_scale_2", "_scale", "_scales", "_zero_point"];
        let module =
            OF_MODULES.iter().find_map(|&(end, sure)| Some((name.strip_suffix(end)?, sure)));
        if let Some((stem, is_certain)) = module {
            let is_lone = is_certain && !name.ends_with(".pre_quant_scale");
            return Some(Self { stem, of_module: true, is_certain, is_lone });
        }
        let (stem, end) =
            OF_PARAMETERS.iter().find_map(|end| Some((name.strip_suffix(end)?, end)))?;
        let of_weight = ["weight", "_weight", ".weight"]
            .iter()
            .any(|own| stem.ends_with(own) && (stem == *own || own.len() > 6));
        let is_lone = *end == "_scale_inv" || *end == "_scale_2" && of_weight;
        Some(Self { stem, of_module: false, is_certain: of_weight || is_lone, is_lone })
    }

    /// Returns the names that its weight could have.
    fn weights(&self) -> impl Iterator<Item = String> {
        let stem = self.stem;
        let own = Some(stem.to_owned());
        let names = if self.of_module {
            [Some(format!("{stem}.weight")), own, Some(format!("{stem}.qweight"))]
        } else {
            // Of a parameter that is not called `weight`; or packed, under a name that says so.
            let other = stem.strip_suffix("_weight").map(str::to_owned);
            [own, other, stem.ends_with("weight").then(|| format!("{stem}_packed"))]
        };
        names.into_iter().flatten()
    }

    /// Whether it is certainly a scale, although its weight is missing.
    fn is_certainly_a_scale(&self, info: &TensorInfo, quantized: bool) -> bool {
        use DType::{F8_E4M3, F8_E8M0, U8};
        match info.stored.element() {
            // Parameters of a model have other types.
            Some(F8_E8M0) => true,
            Some(F8_E4M3 | U8) => self.is_certain,
            _ => self.is_lone || (self.is_certain && quantized),
        }
    }
}

/// Whether the elements of a tensor can be codes: no model parameter has such a type.
fn is_codes(info: &TensorInfo) -> bool {
    use DType::{BF16, Bool, C32, C64, C128, F16, F32, F64, I64, U64};
    let dtype = info.stored.element();
    dtype.is_some_and(|dtype| {
        ![BF16, Bool, C32, C64, C128, F16, F32, F64, I64, U64].contains(&dtype)
    })
}

fn orphan(info: &TensorInfo, scale: &Scale<'_>) -> Finding {
    let weight = scale.weights().next().unwrap_or_default();
    let message = format!(
        "a scale without its weight: {} is not in the model; a shard may be missing",
        escaped(&weight)
    );
    Finding::of(&info.name, "orphan", message)
}

fn beside_decoded(info: &TensorInfo, weight: &TensorInfo) -> Finding {
    let message = format!(
        "a second scale of {}, which is decoded without it: how to apply it is unknown; exclude \
         this scale if it does not apply",
        escaped(&weight.name)
    );
    Finding::of(&info.name, "orphan", message)
}

fn beside_numbers(info: &TensorInfo, weight: &TensorInfo) -> Finding {
    let message = format!(
        "a scale of {}, which is {} and needs none: it may already be applied; exclude the scale \
         if so",
        escaped(&weight.name),
        weight.stored.name(),
    );
    Finding::of(&info.name, "orphan", message)
}

fn refuse(evidence: &Evidence<'_>, weight: TensorId, scales: &[TensorId], bids: &mut Bids) {
    let info = |id| evidence.tensors()[evidence.index(id)].1;
    let (codes, scale) = (info(weight), info(scales[0]));
    let reason = format!(
        "it is {} {:?} with a scale ({}, {} {:?}), so it holds codes, but no supported scheme uses \
         these names and dtypes; add the model's config.json if it is missing, or fetch the model \
         in another format",
        codes.stored.name(),
        codes.shape,
        escaped(&scale.name),
        scale.stored.name(),
        scale.shape,
    );
    let scales = scales.iter().map(|&tensor| Part { role: "scales", tensor });
    let parts = std::iter::once(Part { role: "weight", tensor: weight }).chain(scales).collect();
    let bid = Bid::refused(&*codes.name, codes.shape.clone(), parts, &reason);
    bids.refuse(codes, "unknown-scheme", bid);
}

#[cfg(test)]
mod tests;
