//! GroveMoE: Qwen 3 with experts. Each pair of experts shares a smaller one.

use super::family::*;

pub(super) const GROVEMOE: Family = Family {
    architecture: "grovemoe",
    classes: &["GroveMoeForCausalLM", "modeling_grove_moe.GroveMoeForCausalLM"],
    types: &["grove_moe"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, TWO_NORMS, EXPERTS, ROWS],
    gguf: &[GGUF, GGUF_FUSED, GGUF_ROWS],
    left_out: &[("layers.#.mlp.gate.expert_bias", UNUSED), ("layers.#.mlp.expert_bias", UNUSED)],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    mlx: false,
    ..DECODER
};

const UNUSED: &str = "expert bias, not used by the model";

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    differs(&["norm_topk_prob"], stated_on, "normalizes the weights of experts"),
    differs(
        &["use_sliding_window", "sliding_window", "max_window_layers"],
        |case, is_used| {
            let window = case.value("sliding_window");
            off(case, is_used) || off(case, &window) || case.is_beyond_context(&window)
        },
        "lets every layer see the whole text, beyond the window too",
    ),
    ALL_EXPERTS,
    EVERY_STEP,
    differs(
        &["parallel_expert_num"],
        |_, pair| is_number(pair, 2.0),
        "has a smaller expert a pair",
    ),
    free(&["num_experts", "use_grove", "parallel_expert_intermediate_size"]),
];

const ROWS: &[Row] = &[
    ("layers.#.mlp.chunk_experts.#.gate_proj", &["blk.#.ffn_gate_chexps"], Expert),
    ("layers.#.mlp.chunk_experts.#.up_proj", &["blk.#.ffn_up_chexps"], Expert),
    ("layers.#.mlp.chunk_experts.#.down_proj", &["blk.#.ffn_down_chexps"], Expert),
];

const GGUF_ROWS: &[Row] = &[
    ("blk.#.ffn_gate_chexps", &["blk.#.ffn_gate_chexps"], Experts),
    ("blk.#.ffn_up_chexps", &["blk.#.ffn_up_chexps"], Experts),
    ("blk.#.ffn_down_chexps", &["blk.#.ffn_down_chexps"], Experts),
];

const KEYS: &[KeyRow] = &[
    ("expert_feed_forward_length", Count, Any(&["moe_intermediate_size"])),
    ("expert_chunk_feed_forward_length", Count, Made(chunk)),
    ("experts_per_group", Count, Made(|_| Some(2.into()))),
    ("expert_group_scale", Number, Made(|_| Some(0.05.into()))),
];

/// The inner size of the smaller experts: that of a head.
fn chunk(settings: &Settings) -> Option<Json> {
    Some(settings.count("head_dim").filter(|width| *width > 0).unwrap_or(128).into())
}
