//! Whether all layers of a GGUF model are there, each with all of its tensors. A library that finds
//! a weight missing may go on with random numbers in its place.

use std::collections::{BTreeMap, BTreeSet};

use super::parsed::parsed;
use super::{Facts, Side};
use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::families::{Family, How, has_ending};

/// Norms that some models of a family do not have.
const OPTIONAL: &[&str] = &["_q_norm", "_k_norm", ".attn_q_a_norm", ".nextn."];

/// How names of what mixes tokens begin, attention first. A layer has one of these, or attention and
/// another one.
const MIXERS: &[&str] = &[ATTENTION, "blk.#.ssm_", "blk.#.shortconv.", "blk.#.time_mix_"];
const ATTENTION: &str = "blk.#.attn_";

/// The norm behind an encoder with a name of its own.
const ENCODER_NORM: &str = "enc.output_norm";

/// How names of what changes each token begin.
const FEED_FORWARD: &[&str] = &["blk.#.ffn_", "blk.#.exp_probs", "blk.#.channel_mix_"];

/// An error that names what is missing.
pub(super) fn check(side: &Side<'_>, facts: &Facts, family: &Family) -> Result<()> {
    let missing = |name: &str| {
        Err(Error::malformed(format!(
            "`{name}` is missing; part of the model may be in another file"
        )))
    };
    // The layers of an encoder have names of their own.
    let is_encoder = family.rows.iter().copied().flatten().any(|row| row.1 == [ENCODER_NORM]);
    let stack = if is_encoder { "enc." } else { "" };
    let mut layers: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    let mut outside = BTreeSet::new();
    for weight in &side.weights {
        let found = parsed(weight.name);
        let kind = format!("{}{}", found.module, found.ending);
        let kind = kind.strip_prefix(stack).unwrap_or(&kind).to_owned();
        match found.numbers.first().filter(|_| kind.starts_with("blk.#.")) {
            Some(&layer) => drop(layers.entry(layer).or_default().insert(kind)),
            None => drop(outside.insert(kind)),
        }
    }
    let rows = || family.rows.iter().copied().flatten();
    for name in ["token_embd.weight", "output_norm.weight"] {
        // Norms without weights are not there.
        let module = name.trim_end_matches(".weight");
        let inside = format!("{stack}{module}");
        let whole = if rows().any(|row| row.1 == [&*inside]) { stack } else { "" };
        let has_one = !whole.is_empty() || rows().any(|row| row.1.contains(&module));
        if has_one && !outside.contains(name) {
            return missing(&format!("{whole}{name}"));
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
    let known = Expected::of(&layers, family, stack);
    for (layer, kinds) in &layers {
        let has = Stated::of(side, *layer);
        let may_lack = |name: &str| family.back.as_ref().is_some_and(|b| (b.lacks)(name, *layer));
        if let Some(kind) = known.missing_in(kinds, &has, may_lack) {
            return missing(&format!("{stack}{}", kind.replacen('#', &layer.to_string(), 1)));
        }
    }
    Ok(())
}

/// What the metadata says that a layer has. A list has a number for each layer, zero for one without.
struct Stated {
    /// None where all layers are alike.
    attention: Option<bool>,
    feed_forward: Option<bool>,
}

impl Stated {
    fn of(side: &Side<'_>, layer: u64) -> Self {
        let architecture = side.metadata.iter().find(|(key, _)| *key == "general.architecture");
        let architecture = architecture.and_then(|(_, name)| name.as_str()).unwrap_or_default();
        let has_some = |end: &str| {
            let wanted = format!("{architecture}.{end}");
            match side.metadata.iter().find(|(key, _)| *key == wanted)?.1 {
                Value::List(all) => Some(all.get(usize::try_from(layer).ok()?)?.as_u64()? > 0),
                _ => None,
            }
        };
        Self {
            attention: has_some("attention.head_count_kv"),
            feed_forward: has_some("feed_forward_length"),
        }
    }
}

/// A part of a layer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// One of the mixers.
    Mixer(usize),
    FeedForward,
    /// Norms between the others, and what else there is.
    Rest,
}

impl Part {
    fn of(kind: &str) -> Self {
        let is_norm = kind.ends_with("norm.weight") || kind.ends_with("norm.bias");
        let starts = |start: &&str| kind.starts_with(*start);
        let is_rest = is_norm && (kind.starts_with(ATTENTION) || kind.starts_with("blk.#.ffn_"));
        match MIXERS.iter().position(starts) {
            Some(mixer) if !is_rest => Self::Mixer(mixer),
            None if !is_rest && FEED_FORWARD.iter().any(starts) => Self::FeedForward,
            _ => Self::Rest,
        }
    }
}

/// What a layer has to have.
struct Expected<'a> {
    family: &'a Family,
    /// What stands before names of layers.
    stack: &'static str,
    /// What layers of a kind have together, by part.
    parts: BTreeMap<(Part, LayerKind), BTreeSet<&'a str>>,
}

/// Layers of one kind have the same tensors. What mixes tokens, experts, what predicts further
/// tokens, and what chooses tokens, has others.
type LayerKind = (Vec<Part>, bool, [bool; 2]);

/// The kind of a layer, as far as it matters to a part.
fn kind_of(kinds: &BTreeSet<String>, part: Part) -> LayerKind {
    let has = |part: &str| kinds.iter().any(|kind| kind.contains(part));
    let is_mixer = |part: &Part| matches!(part, Part::Mixer(_));
    let parts: BTreeSet<Part> = kinds.iter().map(|kind| Part::of(kind)).collect();
    let matters = |other: &Part| part == Part::Rest || is_mixer(&part) && is_mixer(other);
    let parts = parts.into_iter().filter(matters).collect();
    let has_indexer = part == Part::Rest && has(".indexer.");
    (parts, part == Part::FeedForward && has("_exps."), [has(".nextn."), has_indexer])
}

impl<'a> Expected<'a> {
    fn of(
        layers: &'a BTreeMap<u64, BTreeSet<String>>,
        family: &'a Family,
        stack: &'static str,
    ) -> Self {
        let mut parts: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for kinds in layers.values() {
            for name in kinds {
                let part = Part::of(name);
                parts.entry((part, kind_of(kinds, part))).or_default().insert(name);
            }
        }
        Self { family, stack, parts }
    }

    /// What a layer lacks.
    fn missing_in(
        &self,
        kinds: &BTreeSet<String>,
        stated: &Stated,
        may_lack: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let has = |part: Part| kinds.iter().any(|kind| Part::of(kind) == part);
        let has_feed_forward = has(Part::FeedForward) || stated.feed_forward != Some(false);
        let mixers = (0..MIXERS.len()).filter(|mixer| has(Part::Mixer(*mixer)));
        let mut needed = self.norms(has_feed_forward);
        let mut mixers: BTreeSet<usize> = mixers.collect();
        mixers.extend(self.stated_mixer(&mixers, stated));
        needed.extend(mixers.iter().flat_map(|mixer| self.of_mixer(*mixer, kinds)));
        if has_feed_forward {
            needed.extend(self.of_feed_forward(kinds));
        }
        let parts = [Part::Rest, Part::FeedForward].into_iter();
        let parts = parts.chain(mixers.into_iter().map(Part::Mixer)).filter(|part| has(*part));
        let others = parts.flat_map(|part| self.parts.get(&(part, kind_of(kinds, part))));
        let others = others.flatten().map(|name| (*name).to_owned());
        needed.into_iter().chain(others).find(|name| !kinds.contains(name) && !may_lack(name))
    }

    /// The tensors of a layer that the family's rows name.
    fn named(&self) -> impl Iterator<Item = (&'a str, How)> {
        let rows = self.family.rows.iter().copied().flatten();
        let all = rows.flat_map(|row| row.1.iter().map(|name| (*name, row.2)));
        let all = all.filter_map(|(name, how)| Some((name.strip_prefix(self.stack)?, how)));
        all.filter(|(name, _)| name.starts_with("blk.#."))
    }

    fn names(&self, name: &str) -> bool {
        self.named().any(|(known, _)| known == name)
    }

    /// Norms of every layer. Those of what a layer may lack are that part's.
    fn norms(&self, has_feed_forward: bool) -> Vec<String> {
        let norms = self.named().filter(|(name, how)| {
            let is_optional = OPTIONAL.iter().any(|part| name.contains(part));
            let is_rest = Part::of(&weight(name)) == Part::Rest;
            let is_there = has_feed_forward || !name.starts_with("blk.#.ffn_");
            *how == How::Norm && !is_optional && is_rest && is_there
        });
        norms.map(|(name, _)| weight(name)).collect()
    }

    /// What has to mix tokens in a layer, by the metadata.
    fn stated_mixer(&self, found: &BTreeSet<usize>, stated: &Stated) -> Option<usize> {
        let has = |mixer: &usize| self.named().any(|(name, _)| name.starts_with(MIXERS[*mixer]));
        let other = (1..MIXERS.len()).find(has);
        let has_attention = match stated.attention {
            Some(stated) => stated,
            None => has(&0) && (other.is_none() || found.is_empty()),
        };
        // A layer may be nothing but a feed-forward one, if the file says which ones are.
        let is_alone = stated.feed_forward == Some(true);
        match other {
            _ if has_attention => Some(0),
            Some(_) if !found.is_empty() || is_alone => None,
            other => other,
        }
    }

    fn of_mixer(&self, mixer: usize, kinds: &BTreeSet<String>) -> Vec<String> {
        let has = |part: &str| kinds.iter().any(|kind| kind.contains(part));
        // Queries, keys and values are one tensor, or three, or made in DeepSeek's way.
        if mixer == 0 {
            let is_one = has(".attn_qkv.") || has(".attn_kv_a_mqa.");
            let parts: &[&str] = if is_one { &[] } else { &["attn_q", "attn_k", "attn_v"] };
            return self.known(&[&["attn_output", "attn_o"], parts].concat());
        }
        let own = self.named().filter(|(name, _)| Part::of(&weight(name)) == Part::Mixer(mixer));
        own.map(|(name, _)| weight(name)).collect()
    }

    fn of_feed_forward(&self, kinds: &BTreeSet<String>) -> Vec<String> {
        let has_experts = kinds.iter().any(|kind| kind.contains("_exps."));
        let mut parts = if has_experts {
            ["ffn_down_exps", "ffn_gate_exps", "ffn_up_exps", "ffn_gate_up_exps"].to_vec()
        } else {
            ["ffn_down", "ffn_up"].to_vec()
        };
        parts.extend(has_experts.then_some("ffn_gate_inp"));
        self.known(&parts)
    }

    /// Those that the family has.
    fn known(&self, parts: &[&str]) -> Vec<String> {
        let names = parts.iter().map(|part| format!("blk.#.{part}"));
        names.filter(|name| self.names(name)).map(|name| weight(&name)).collect()
    }
}

/// The weight of a module, unless its name is a whole one.
fn weight(name: &str) -> String {
    if has_ending(name) { name.trim_end_matches('!').to_owned() } else { format!("{name}.weight") }
}
