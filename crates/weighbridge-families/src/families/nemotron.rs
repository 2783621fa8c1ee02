//! Nemotron and Minitron.

use super::family::*;

pub(super) const NEMOTRON: Family = Family {
    architecture: "nemotron",
    classes: &["NemotronForCausalLM"],
    types: &["nemotron"],
    norm_add: 1.0,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    scalings: &["linear"],
    defaults: Some(Defaults {
        sizes: [256000, 6144, 24576, 32, 48, 4096],
        key_heads: KeyHeads::Unsaid,
        head: Head::Share,
        epsilon: ("norm_eps", 1e-5),
        rotated: Some(0.5),
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PiecesWith(&[("padding", 0), ("unknown", 1)]),
    back: Some(Back {
        flags: &[
            ("attention_bias", &[Q, K, V, O]),
            ("mlp_bias", &[UP, DOWN]),
            ("", &["blk.#.attn_norm.bias", "blk.#.ffn_norm.bias", "output_norm.bias"]),
        ],
        fixed: &[("partial_rotary_factor", rotated_part)],
        activation: ("hidden_act", "relu2"),
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["hidden_act"], |_, act| act.is_null() || act == "relu2", "uses relu2"),
    free(&["attention_bias", "mlp_bias"]),
    NEEDS_HEAD,
    HEADS_SHARE,
];

const EPSILON: &[&str] = &["layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"];

/// Two kinds of epsilons, of which readers take the second.
const KEYS: &[KeyRow] = &[
    VOCABULARY,
    ("attention.layer_norm_epsilon", Number, Any(EPSILON)),
    ("rope.dimension_count", Count, Made(rotated_hidden)),
    ("rope.scaling.type", Text, Made(linear_or_none)),
    ("rope.scaling.factor", Number, Made(factor)),
];

fn factor(settings: &Settings) -> Option<Json> {
    nonzero(settings, "factor").or_else(|| settings.rope(&["factor"]).cloned())
}

/// Whatever scales positions by a factor is linear.
fn linear_or_none(settings: &Settings) -> Option<Json> {
    Some(factor(settings).map_or("none", |_| "linear").into())
}

/// The part of a head that is rotated, by what the heads make of the hidden size.
fn rotated_part(told: &Told<'_>, config: &Config) -> Option<Json> {
    let count = |key: &str| config.get(key)?.as_f64();
    let Some(rotated) = told.own("rope.dimension_count") else { return Some(1.0.into()) };
    let rotated = rotated.as_u64()? as f64;
    Some((rotated * count("num_attention_heads")? / count("hidden_size")?).into())
}
