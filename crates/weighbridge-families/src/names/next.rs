//! Layers that predict further tokens, counted in a model's weights. Configs of fine-tuned models often
//! count layers that were not saved.

use std::collections::BTreeSet;

use super::pieces::Translator;
use super::{Dialect, Facts, Side};
use crate::families::pattern;

/// What every layer of this kind has, and no other.
const PROJECTION: &str = "blk.#.nextn.eh_proj.weight";

/// How many of these layers a model has that is named as Hugging Face names it; `None` if files of its
/// family have none.
#[must_use]
pub fn next_layers(side: &Side<'_>) -> Option<u64> {
    let names: Vec<String> = side.weights.iter().map(|weight| weight.name.to_owned()).collect();
    let facts = Facts::of(side, &names);
    let family = facts.family.filter(|_| facts.dialect == Dialect::HuggingFace)?;
    family.counts_next?;
    let translator = Translator::new(&facts, &facts, family);
    let common = names.iter().flat_map(|name| translator.common_names(name));
    let layers = common.filter_map(|name| match pattern(&name) {
        (shape, numbers) if shape == PROJECTION => numbers.first().copied(),
        _ => None,
    });
    Some(layers.collect::<BTreeSet<u64>>().len() as u64)
}
