//! Whether all layers of a GGUF model are there, each with all of its tensors. A library that finds
//! a weight missing may go on with random numbers in its place.

use std::collections::{BTreeMap, BTreeSet};

use super::parsed::parsed;
use super::{Facts, Side};
use crate::error::{Error, Result};
use crate::families::{Family, How};

/// Norms that some models of a family do not have.
const OPTIONAL: &[&str] = &["_q_norm", "_k_norm", ".attn_q_a_norm", ".nextn."];

/// An error that names what is missing.
pub(super) fn check(side: &Side<'_>, facts: &Facts, family: &Family) -> Result<()> {
    let missing = |name: &str| {
        Err(Error::malformed(format!(
            "`{name}` is missing; part of the model may be in another file"
        )))
    };
    let mut layers: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    let mut outside = BTreeSet::new();
    for weight in &side.weights {
        let found = parsed(weight.name);
        let kind = format!("{}{}", found.module, found.ending);
        match found.numbers.first().filter(|_| kind.starts_with("blk.#.")) {
            Some(&layer) => drop(layers.entry(layer).or_default().insert(kind)),
            None => drop(outside.insert(kind)),
        }
    }
    for name in ["token_embd.weight", "output_norm.weight"] {
        if !outside.contains(name) {
            return missing(name);
        }
    }
    let unstated = || Error::malformed("the file does not state its number of layers");
    let stated = facts.layers.ok_or_else(unstated)?;
    if let Some(gone) = (0..stated).find(|layer| !layers.contains_key(layer)) {
        let message =
            format!("the file declares {stated} layers, but has no tensors for layer {gone}");
        return Err(Error::malformed(message));
    }
    if let Some((last, _)) = layers.last_key_value().filter(|(last, _)| **last >= stated) {
        let message =
            format!("the file declares {stated} layers, but has tensors for layer {last}");
        return Err(Error::malformed(message));
    }
    let known = Expected::of(&layers, family);
    for (layer, kinds) in &layers {
        if let Some(kind) = known.missing_in(kinds) {
            return missing(&kind.replacen('#', &layer.to_string(), 1));
        }
    }
    Ok(())
}

/// What a layer has to have.
struct Expected<'a> {
    /// In every layer.
    norms: Vec<String>,
    /// What the feed-forward parts (`true`) of layers of a kind have together, and the rest of them.
    parts: BTreeMap<(bool, LayerKind), BTreeSet<&'a str>>,
}

/// Layers of one kind have the same tensors: those with experts, and those that predict further
/// tokens, have others.
type LayerKind = (bool, bool);

fn kind_of(kinds: &BTreeSet<String>) -> LayerKind {
    let has = |part: &str| kinds.iter().any(|kind| kind.contains(part));
    (has("_exps."), has(".nextn."))
}

fn is_feed_forward(kind: &str) -> bool {
    kind.starts_with("blk.#.ffn_") && !kind.ends_with("_norm.weight") || kind.contains("exp_probs")
}

impl<'a> Expected<'a> {
    fn of(layers: &'a BTreeMap<u64, BTreeSet<String>>, family: &Family) -> Self {
        let norms = family.rows.iter().copied().flatten().filter(|row| row.2 == How::Norm);
        let norms = norms.flat_map(|row| row.1).filter(|name| {
            name.starts_with("blk.#.") && !OPTIONAL.iter().any(|part| name.contains(part))
        });
        let norms = norms.map(|name| format!("{name}.weight")).collect();
        let mut parts: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for kinds in layers.values() {
            let (has_experts, predicts) = kind_of(kinds);
            for name in kinds {
                let is_feed_forward = is_feed_forward(name);
                let kind = (is_feed_forward && has_experts, predicts);
                parts.entry((is_feed_forward, kind)).or_default().insert(name);
            }
        }
        Self { norms, parts }
    }

    /// What a layer lacks.
    fn missing_in(&self, kinds: &BTreeSet<String>) -> Option<String> {
        let kind = kind_of(kinds);
        let others = [(false, (false, kind.1)), (true, kind)].map(|part| self.parts.get(&part));
        let others = others.into_iter().flatten().flatten().map(|name| (*name).to_owned());
        let has = |part: &str| kinds.iter().any(|kind| kind.contains(part));
        let feed_forward: &[&str] = if has("_exps.") {
            &["ffn_down_exps", "ffn_gate_exps", "ffn_up_exps", "ffn_gate_inp"]
        } else {
            &["ffn_down", "ffn_up"]
        };
        // Queries, keys and values are one tensor, or three, or made in DeepSeek's way.
        let attention: &[&str] = if has(".attn_qkv.") || has(".attn_kv_a_mqa.") {
            &[]
        } else {
            &["attn_q", "attn_k", "attn_v"]
        };
        let needed = [&["attn_output"], feed_forward, attention].concat();
        let needed = needed.into_iter().map(|name| format!("blk.#.{name}.weight"));
        let mut all = self.norms.iter().cloned().chain(others).chain(needed);
        all.find(|name| !kinds.contains(name))
    }
}
