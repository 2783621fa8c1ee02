//! Jais 2.

use super::family::*;

pub(super) const JAIS2: Family = Family {
    architecture: "jais2",
    classes: &["Jais2ForCausalLM"],
    types: &["jais2"],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [150272, 3328, 26624, 32, 26, 8192],
        head: Head::Share,
        epsilon: ("layer_norm_eps", 1e-5),
        flags: &[("attention_bias", true), ("mlp_bias", true)],
        ..DEFAULTS
    }),
    back: Some(Back {
        flags: &[
            ("attention_bias", &[Q, K, V, O]),
            ("mlp_bias", &[UP, DOWN]),
            ("", &["blk.#.attn_norm.bias", "blk.#.ffn_norm.bias", "output_norm.bias"]),
        ],
        activation: ("hidden_act", "relu2"),
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["hidden_act"], |_, act| act.is_null() || act == "relu2", "uses relu2"),
    fails(
        &["attention_bias"],
        |case, _| case.has(".attn_output.bias") || !case.has(".attn_output.weight"),
        "it needs attention biases in this family",
    ),
    fails(
        &["mlp_bias"],
        |case, _| case.has(".ffn_up.bias") || !case.has(".ffn_up.weight"),
        "it needs feed-forward biases in this family",
    ),
];

const KEYS: &[KeyRow] =
    &[("rope.dimension_count", Count, Made(|settings| settings.head_width().map(Json::from)))];
