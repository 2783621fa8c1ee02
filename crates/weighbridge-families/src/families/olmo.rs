//! OLMo, the first. Its norms have no weights.

use super::family::*;

pub(super) const OLMO: Family = Family {
    architecture: "olmo",
    classes: &["OlmoForCausalLM", "OLMoForCausalLM"],
    types: &["olmo"],
    rows: &[ROWS, ATTENTION, MLP],
    pairs: true,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [50304, 4096, 11008, 32, 32, 2048],
        epsilon: ("", 0.0),
        ..DEFAULTS
    }),
    back: Some(Back {
        flags: &[("attention_bias", &[Q, K, V, O])],
        fixed: &[("clip_qkv", clips_nothing)],
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[SILU, NO_ATTENTION_BIAS, HEADS_SHARE];

const ROWS: &[Row] =
    &[("embed_tokens", &["token_embd"], Embedding), ("lm_head", &["output"], Embedding)];

const KEYS: &[KeyRow] = &[
    ("attention.layer_norm_epsilon", Number, Made(|_| Some(1e-5.into()))),
    ("attention.clamp_kqv", Number, Any(&["clip_qkv"])),
];

/// A file states what is cut off, if anything is.
fn clips_nothing(told: &Told<'_>, _: &Config) -> Option<Json> {
    told.own("attention.clamp_kqv").is_none().then_some(Json::Null)
}
