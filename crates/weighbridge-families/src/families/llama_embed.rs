//! Llama as an encoder, which transformers does not know.

use super::family::*;
use super::llama::LLAMA;

pub(super) const LLAMA_EMBED: Family = Family {
    architecture: "llama-embed",
    classes: &["LlamaBidirectionalModel"],
    types: &["llama_bidirec"],
    prefix: "",
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS],
    rules: &[RULES, ROPE],
    defaults: None,
    back: None,
    mlx: false,
    ..LLAMA
};

const RULES: &[Rule] = &[
    SILU,
    differs(&["pooling"], |_, kind| kind.is_null(), "leaves pooling to its user"),
    free(&["attention_bias", "mlp_bias", "temperature"]),
];
