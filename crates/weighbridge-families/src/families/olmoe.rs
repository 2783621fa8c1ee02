//! OLMoE.

use super::family::*;

pub(super) const OLMOE: Family = Family {
    architecture: "olmoe",
    classes: &["OlmoeForCausalLM"],
    types: &["olmoe"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, TWO_NORMS, EXPERTS],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [50304, 2048, 2048, 16, 16, 4096],
        epsilon: ("rms_norm_eps", 1e-5),
        more: &[("num_experts_per_tok", 8.0), ("num_experts", 64.0)],
        ..DEFAULTS
    }),
    back: Some(Back {
        made: &[("attention.layer_norm_rms_epsilon", "rms_norm_eps")],
        flags: ATTENTION_BIAS,
        fixed: &[("norm_topk_prob", |_, _| Some(false.into()))],
        untold: &[("norm_topk_prob", ""), ("clip_qkv", "null")],
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    NEEDS_HEAD,
    HEADS_SHARE,
    differs(&["clip_qkv"], off, "does not clip queries, keys and values in this family"),
    fails(
        &["num_key_value_heads"],
        |case, heads| heads.is_null() || *heads == case.value("num_attention_heads"),
        "this family has a key head for each query head",
    ),
    differs(&["norm_topk_prob"], off, "takes the weights of experts as they are"),
    differs(&["rms_norm_eps"], |_, epsilon| is_number(epsilon, 1e-5), "adds 1e-5 in norms"),
];

/// The number in norms is the same in every file.
const KEYS: &[KeyRow] =
    &[("attention.layer_norm_rms_epsilon", Number, Made(|_| Some(1e-5.into())))];
