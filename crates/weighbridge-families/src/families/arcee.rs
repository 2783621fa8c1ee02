//! Arcee's AFM.

use super::family::*;

pub(super) const ARCEE: Family = Family {
    architecture: "arcee",
    classes: &["ArceeForCausalLM"],
    types: &["arcee"],
    pairs: true,
    keys: &[BASE, ROTARY, &[POOLING]],
    computed: llama3_factors,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "llama3"],
    defaults: Some(Defaults {
        sizes: [32000, 2560, 18432, 32, 32, 4096],
        head: Head::Share,
        epsilon: ("rms_norm_eps", 1e-5),
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::LlamaLike,
    back: Some(Back {
        flags: &[("attention_bias", &[Q, K, V, O]), ("mlp_bias", &[UP, DOWN])],
        activation: ("hidden_act", "relu2"),
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["hidden_act"], |_, act| act.is_null() || act == "relu2", "uses relu2"),
    NO_ATTENTION_BIAS,
    NO_MLP_BIAS,
];
