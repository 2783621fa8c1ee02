//! Granite with sliding windows and experts, whose gates and ups stay together.

use super::family::*;
use super::granite_swa::GRANITE_SWA;

pub(super) const GRANITE_MOE_SWA: Family = Family {
    classes: &["GraniteMoeSWAForCausalLM"],
    types: &["granitemoe_swa"],
    rows: &[TRUNK, ATTENTION, TWO_NORMS, GRANITE_SINKS, EXPERT_ROWS],
    keys: &[BASE, ROTARY, GRANITE_SCALES, GRANITE_WINDOWS, SHARED_LENGTH],
    rules: &[GRANITE_WINDOW_RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [32000, 4096, 11008, 32, 32, 2048],
        more: &[
            ("embedding_multiplier", 1.0),
            ("logits_scaling", 1.0),
            ("residual_multiplier", 1.0),
            ("attention_multiplier", 1.0),
            ("num_local_experts", 8.0),
            ("num_experts_per_tok", 2.0),
            ("sliding_window", 128.0),
        ],
        ..DEFAULTS
    }),
    tied: false,
    ..GRANITE_SWA
};

const EXPERT_ROWS: &[Row] = &[
    ("layers.#.block_sparse_moe.router", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.block_sparse_moe.router.layer", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.block_sparse_moe.input_linear", &["blk.#.ffn_gate_up_exps"], Experts),
    ("layers.#.block_sparse_moe.output_linear", &["blk.#.ffn_down_exps"], Experts),
    ("layers.#.block_sparse_moe.experts.gate_up_proj", &["blk.#.ffn_gate_up_exps"], Experts),
    ("layers.#.block_sparse_moe.experts.down_proj", &["blk.#.ffn_down_exps"], Experts),
    ("layers.#.shared_mlp.input_linear", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.shared_mlp.output_linear", &["blk.#.ffn_down_shexp"], Plain),
];
