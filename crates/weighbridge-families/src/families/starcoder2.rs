//! StarCoder 2.

use super::family::*;

pub(super) const STARCODER2: Family = Family {
    architecture: "starcoder2",
    classes: &["Starcoder2ForCausalLM"],
    types: &["starcoder2"],
    rows: &[TRUNK, ATTENTION, UNGATED_MLP, TWO_NORMS],
    tied: true,
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [49152, 3072, 12288, 30, 24, 4096],
        key_heads: KeyHeads::Of(2),
        epsilon: ("norm_epsilon", 1e-5),
        ..DEFAULTS
    }),
    back: Some(Back {
        flags: &[
            ("use_bias", &[Q, K, V, O, UP, DOWN]),
            ("", &["blk.#.attn_norm.bias", "blk.#.ffn_norm.bias", "output_norm.bias"]),
        ],
        untold: &[("sliding_window", "null")],
        activation: ("hidden_act", "gelu_pytorch_tanh"),
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[
    GELU,
    NO_WINDOW,
    HEADS_SHARE,
    fails(
        &["use_bias"],
        |case, _| case.has(".attn_output.bias") || !case.has(".attn_output.weight"),
        "this family has biases everywhere",
    ),
];
