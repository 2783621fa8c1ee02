//! MiniMax M2.

use super::family::*;

pub(super) const MINIMAX_M2: Family = Family {
    architecture: "minimax-m2",
    classes: &["MiniMaxM2ForCausalLM"],
    types: &["minimax_m2"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, TWO_NORMS, MIXTRAL_EXPERTS, ROWS, EXPERTS],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [200064, 3072, 1536, 62, 48, 196608],
        key_heads: KeyHeads::Of(8),
        head: Head::Of(128),
        theta: 5000000.0,
        more: &[("num_experts_per_tok", 8.0), ("num_local_experts", 256.0)],
        ..DEFAULTS
    }),
    back: Some(Back { rotated: Some("partial_rotary_factor"), ..BACK }),
    mlx: false,
    ..DECODER
};

pub(super) const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    NEEDS_HEAD,
    fails(
        &["use_routing_bias"],
        |case, _| case.has(".exp_probs_b.bias") || !case.has(".attn_q.weight"),
        "experts of this family are chosen with a bias",
    ),
    differs(&["use_qk_norm"], on, "norms queries and keys"),
    differs(
        &["qk_norm_type"],
        |_, kind| kind.is_null() || kind == "per_layer",
        "norms all heads together",
    ),
    differs(&["shared_intermediate_size"], off, "has no shared expert"),
    differs(&["attn_type_list"], all_ones, "has attention with a cache in every layer"),
    // Layers that predict further tokens, which no file has.
    free(&[
        "use_mtp",
        "num_mtp_modules",
        "mtp_transformer_layers",
        "layernorm_full_attention_beta",
    ]),
];

fn all_ones(_: &Case<'_>, kinds: &Json) -> bool {
    kinds.as_array().is_none_or(|kinds| kinds.iter().all(|kind| *kind == 1))
}

const ROWS: &[Row] =
    &[("layers.#.block_sparse_moe.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain)];

const KEYS: &[KeyRow] = &[
    ("expert_feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("rope.dimension_count", Count, Needed(&["rotary_dim"])),
    // The class has a sigmoid. llama.cpp takes no function for granted.
    ("expert_gating_func", Count, Made(|settings| gating(settings).or(Some(2.into())))),
];
