//! Mistral.

use super::family::*;
use super::llama::LLAMA;

pub(super) const MISTRAL: Family = Family {
    classes: &["MistralForCausalLM"],
    types: &["mistral"],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [32000, 4096, 14336, 32, 32, 131072],
        key_heads: KeyHeads::Of(8),
        head: Head::Share,
        ..DEFAULTS
    }),
    back: Some(Back {
        is: is_mistral,
        // The class would take a window, which the file does not have.
        fixed: &[("sliding_window", |_, _| Some(Json::Null))],
        untold: &[("sliding_window", "")],
        ..BACK
    }),
    ..LLAMA
};

const RULES: &[Rule] = &[SILU, NO_WINDOW];

/// A model that says so itself. Without biases and rotary factors the class computes the same as
/// Llama's.
fn is_mistral(told: &Told<'_>) -> bool {
    let keys = ["general.name", "general.basename", "general.base_model.0.name"];
    let says = keys.iter().any(|key| told.text(key).to_lowercase().contains("mistral"));
    let biases = told.tensors.iter().any(|(name, _)| name.ends_with(".bias"));
    says && !biases && !told.has("rope_freqs.weight")
}
