//! The language model of Qwen 3 VL with experts.

use super::family::*;
use super::qwen2_vl::SECTIONS;
use super::qwen3_moe::QWEN3_MOE;
use super::qwen3_vl::{DEEPSTACK, REACHED};

pub(super) const QWEN3_VL_MOE: Family = Family {
    architecture: "qwen3vlmoe",
    classes: &["Qwen3VLMoeForConditionalGeneration"],
    types: &["qwen3_vl_moe_text", "qwen3_vl_moe"],
    prefix: "model.language_model.",
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, ROWS],
    has_sections: true,
    keys: &[BASE, EXPERT_LENGTHS, DEEPSTACK],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [151936, 2048, 5632, 24, 16, 128000],
        key_heads: KeyHeads::Of(16),
        head: Head::OfOrShare(128),
        theta: 500000.0,
        more: &[
            ("moe_intermediate_size", 1408.0),
            ("num_experts_per_tok", 4.0),
            ("num_experts", 60.0),
        ],
        ..DEFAULTS
    }),
    back: None,
    ..QWEN3_MOE
};

pub(super) const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    SECTIONS,
    REACHED,
    differs(&["norm_topk_prob"], on, "normalizes the weights of experts"),
    ALL_EXPERTS,
    EVERY_STEP,
    free(&["num_experts", "num_local_experts"]),
];

/// Each expert transposed.
pub(super) const ROWS: &[Row] = &[
    ("layers.#.mlp.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mlp.experts.gate_up_proj", GATE_UP_EXPERTS, Across),
    ("layers.#.mlp.experts.down_proj", &["blk.#.ffn_down_exps"], Across),
];
