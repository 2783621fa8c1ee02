//! Qwen 3 with experts.

use super::family::*;

pub(super) const QWEN3_MOE: Family = Family {
    architecture: "qwen3moe",
    classes: &["Qwen3MoeForCausalLM"],
    types: &["qwen3_moe"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, EXPERTS],
    keys: &[BASE, EXPERT_LENGTHS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [151936, 2048, 6144, 24, 32, 32768],
        key_heads: KeyHeads::Of(4),
        more: &[
            ("moe_intermediate_size", 768.0),
            ("num_experts_per_tok", 8.0),
            ("num_experts", 128.0),
        ],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PiecesOrPairs,
    back: Some(Back {
        flags: ATTENTION_BIAS,
        fixed: &[
            ("norm_topk_prob", |_, _| Some(true.into())),
            ("mlp_only_layers", layers_without_experts),
        ],
        untold: &[
            ("norm_topk_prob", ""),
            ("decoder_sparse_step", "1"),
            NO_WINDOWS,
            ("sliding_window", "null"),
        ],
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    // The class takes no notice of max_window_layers.
    differs(
        &["use_sliding_window", "sliding_window", "max_window_layers"],
        |case, is_used| {
            let window = case.value("sliding_window");
            off(case, is_used) || off(case, &window) || case.is_beyond_context(&window)
        },
        "lets every layer see the whole text, beyond the window too",
    ),
    NO_ATTENTION_BIAS,
    // The class has another name for it, too.
    free(&["num_experts"]),
    differs(&["norm_topk_prob"], stated_on, "normalizes the weights of experts"),
    ALL_EXPERTS,
    EVERY_STEP,
];
