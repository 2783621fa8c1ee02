//! What nobody bid for and is still no plain tensor: integers with a scale beside them.
//!
//! Copied as they are stored they would pass for weights, which is the quiet kind of wrong. No
//! model has integers with scales that are not quantized, so this is a finding whatever they are.

use std::collections::HashSet;

use super::{Entry, Evidence, Ledger, TensorId};
use crate::catalog::{Finding, TensorInfo};
use crate::dtype::DType;

/// What a scale is called: after the weight's own name.
const OF_WEIGHT: [&str; 6] = ["_scale", "_scales", "_scale_inv", ".scale", ".scales", ".absmax"];

/// Likewise, after the name of the weight's module.
const OF_MODULE: [&str; 3] = ["scale", "scales", "qscale_weight"];

/// A finding for each plain tensor of integers with a scale that is plain too, unless something
/// has been found about it already.
pub(super) fn findings(evidence: &Evidence<'_>, ledger: &Ledger) -> Vec<Finding> {
    let mut plain: Option<HashSet<TensorId>> = None;
    let mut all = Vec::new();
    for entry in &ledger.weights {
        let Entry::Plain(id) = entry else { continue };
        let (_, info) = evidence.tensors()[evidence.index(*id)];
        if !is_packed(info) {
            continue;
        }
        let plain = plain.get_or_insert_with(|| plain_ones(&ledger.weights));
        let free = |name: String| evidence.find(&name).filter(|(id, _)| plain.contains(id));
        if let Some((_, scale)) = scale_names(&info.name).find_map(free) {
            all.push(finding(info, scale));
        }
    }
    if !all.is_empty() {
        let found: HashSet<_> = ledger.findings.iter().map(|finding| &finding.tensor).collect();
        all.retain(|finding| !found.contains(&finding.tensor));
    }
    all
}

/// Whether it could be codes: integers of at most 32 bits, more than a list of them.
fn is_packed(info: &TensorInfo) -> bool {
    use DType::{I8, I16, I32, U8, U16, U32};
    let of_codes = |dtype| [I8, U8, I16, U16, I32, U32].contains(&dtype);
    info.shape.len() > 1 && info.stored.element().is_some_and(of_codes)
}

fn plain_ones(weights: &[Entry]) -> HashSet<TensorId> {
    let plain = |entry: &Entry| match entry {
        Entry::Plain(id) => Some(*id),
        Entry::Scheme(..) => None,
    };
    weights.iter().filter_map(plain).collect()
}

fn scale_names(name: &str) -> impl Iterator<Item = String> {
    let weight = OF_WEIGHT.map(|scale| format!("{name}{scale}"));
    // `weight`, `qweight`: a module has one, so that the module's scales are its own.
    let module = name.rfind('.').map(|dot| &name[..=dot]).filter(|_| name.ends_with("weight"));
    let of_module = module.map(|module| OF_MODULE.map(|scale| format!("{module}{scale}")));
    weight.into_iter().chain(of_module.into_iter().flatten())
}

fn finding(info: &TensorInfo, scale: &TensorInfo) -> Finding {
    let message = format!(
        "it is {} {:?} with a scale beside it ({}), so these are codes and no numbers, but this \
         version knows no scheme that stores them so; put the config.json it came with beside it, \
         or leave it out",
        info.stored.name(),
        info.shape,
        crate::text::escaped(ending(info, scale)),
    );
    Finding::of(&info.name, "unknown-scheme", message)
}

/// What tells the scale's name from the weight's, so that the messages of many are one.
fn ending<'a>(info: &TensorInfo, scale: &'a TensorInfo) -> &'a str {
    let shared = info.name.rfind('.').map_or(0, |dot| dot + 1);
    scale.name.get(shared..).unwrap_or(&scale.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes::settle;
    use crate::schemes::testing::{evidence, tensor};

    fn kinds(tensors: &[(&str, DType, &[u64])]) -> Vec<&'static str> {
        let tensors: Vec<_> = tensors.iter().map(|&(n, dtype, s)| tensor(n, dtype, s)).collect();
        settle(&evidence(&tensors, &[]), &[]).findings.iter().map(|finding| finding.kind).collect()
    }

    #[test]
    fn integers_with_a_scale_are_no_numbers() {
        let with = |weight, dtype, scale| {
            kinds(&[(weight, dtype, &[4, 8]), (scale, DType::BF16, &[4, 1])])
        };
        for scale in ["a.weight_scale", "a.weight_scale_inv", "a.scale", "a.scales"] {
            assert_eq!(with("a.weight", DType::U8, scale), ["unknown-scheme"], "{scale}");
        }
        assert_eq!(with("a.experts", DType::I32, "a.experts_scale"), ["unknown-scheme"]);
        assert_eq!(with("a.qweight", DType::I32, "a.scales"), ["unknown-scheme"]);
        assert!(with("a.weight", DType::BF16, "a.weight_scale").is_empty());
        assert!(with("a.weight", DType::U8, "b.weight_scale").is_empty());
        assert!(with("a.index", DType::I64, "a.scale").is_empty());
    }
}
