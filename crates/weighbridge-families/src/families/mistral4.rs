//! Mistral 4: DeepSeek's attention with stacked experts, as the language model of a class with vision.

use super::deepseek_v2::{self, DEEPSEEK_V2};
use super::family::*;

pub(super) const MISTRAL4: Family = Family {
    architecture: "mistral4",
    classes: &["Mistral3ForConditionalGeneration"],
    types: &["mistral4"],
    rows: &[TRUNK, ATTENTION, LATENT_ATTENTION, MLP, TWO_NORMS, ROWS, SHARED_EXPERTS],
    predicts: false,
    drops_next: false,
    rules: &[RULES, deepseek_v2::RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [131072, 4096, 12288, 36, 32, 1048576],
        key_heads: KeyHeads::Of(32),
        head: Head::OfOrShare(128),
        theta: 10000.0,
        scaling: Some(("yarn", SCALING)),
        more: &[
            ("first_k_dense_replace", 0.0),
            ("kv_lora_rank", 256.0),
            ("q_lora_rank", 1024.0),
            ("n_routed_experts", 128.0),
            ("n_shared_experts", 1.0),
            ("num_experts_per_tok", 4.0),
            ("n_group", 1.0),
            ("topk_group", 1.0),
            ("qk_nope_head_dim", 64.0),
            ("qk_rope_head_dim", 64.0),
            ("routed_scaling_factor", 1.0),
            ("v_head_dim", 128.0),
            ("moe_intermediate_size", 2048.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    back: None,
    ..DEEPSEEK_V2
};

const SCALING: &[(&str, f64)] = &[
    ("factor", 128.0),
    ("original_max_position_embeddings", 8192.0),
    ("max_position_embeddings", 1048576.0),
    ("beta_fast", 32.0),
    ("beta_slow", 1.0),
    ("mscale_all_dim", 1.0),
    ("mscale", 1.0),
    ("llama_4_scaling_beta", 0.1),
    ("partial_rotary_factor", 0.5),
];

const RULES: &[Rule] = &[
    differs(
        &["rope_scaling.llama_4_scaling_beta"],
        off,
        "does not let attention grow beyond the context of the training",
    ),
    differs(
        &["n_group"],
        |_, groups| groups.as_u64().unwrap_or(1) <= 1,
        "chooses experts by groups in its own way",
    ),
    free(&["rope_scaling.max_position_embeddings", "norm_topk_prob"]),
];

/// Gates and ups stay together.
const ROWS: &[Row] = &[
    ("layers.#.mlp.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mlp.experts.gate_up_proj", &["blk.#.ffn_gate_up_exps"], Experts),
    ("layers.#.mlp.experts.down_proj", &["blk.#.ffn_down_exps"], Experts),
];
