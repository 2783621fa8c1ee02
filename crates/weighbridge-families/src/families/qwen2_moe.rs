//! Qwen 2 with experts.

use super::family::*;

pub(super) const QWEN2_MOE: Family = Family {
    architecture: "qwen2moe",
    classes: &["Qwen2MoeForCausalLM"],
    types: &["qwen2_moe"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, EXPERTS, SHARED_EXPERT],
    keys: &[BASE, EXPERT_LENGTHS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [151936, 2048, 5632, 24, 16, 32768],
        key_heads: KeyHeads::Of(16),
        more: &[
            ("moe_intermediate_size", 1408.0),
            ("shared_expert_intermediate_size", 5632.0),
            ("num_experts_per_tok", 4.0),
            ("num_experts", 60.0),
        ],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PiecesOrPairs,
    back: Some(Back {
        flags: &[("qkv_bias", &[Q, K, V])],
        fixed: &[
            ("norm_topk_prob", |_, _| Some(false.into())),
            ("mlp_only_layers", layers_without_experts),
        ],
        untold: &[
            ("norm_topk_prob", ""),
            ("decoder_sparse_step", "1"),
            NO_WINDOWS,
            ("sliding_window", "0"),
            ("layer_types", "full_attention in every layer"),
        ],
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    SEES_ALL,
    HEADS_SHARE,
    NEEDS_HEAD,
    free(&["qkv_bias"]),
    differs(&["norm_topk_prob"], off, "does not normalize the weights of experts"),
    ALL_EXPERTS,
    EVERY_STEP,
];
