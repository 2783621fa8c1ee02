//! Rows of experts, as checkpoints, transformers and MLX have them.

use serde_json::{Value as Json, json};

use super::back::Config;
use super::rows::How::{Expert, Experts, Plain, Stacked};
use super::rows::Row;
use crate::families::told::Told;

pub(crate) const GATE_UP_EXPERTS: &[&str] = &["blk.#.ffn_gate_exps", "blk.#.ffn_up_exps"];

/// The order in which some classes of the converter stack a layer's experts.
pub(crate) const GATES_FIRST: &[&str] = &[".ffn_gate_exps.", ".ffn_up_exps.", ".ffn_down_exps."];

/// One by one as checkpoints have them, fused as transformers 5 has them, stacked as MLX does.
pub(crate) const EXPERTS: &[Row] = &[
    ("layers.#.mlp.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mlp.experts.#.gate_proj", &["blk.#.ffn_gate_exps"], Expert),
    ("layers.#.mlp.experts.#.up_proj", &["blk.#.ffn_up_exps"], Expert),
    ("layers.#.mlp.experts.#.down_proj", &["blk.#.ffn_down_exps"], Expert),
    ("layers.#.mlp.experts.gate_up_proj", GATE_UP_EXPERTS, Stacked),
    ("layers.#.mlp.experts.down_proj", &["blk.#.ffn_down_exps"], Experts),
    ("layers.#.mlp.switch_mlp.gate_proj", &["blk.#.ffn_gate_exps"], Experts),
    ("layers.#.mlp.switch_mlp.up_proj", &["blk.#.ffn_up_exps"], Experts),
    ("layers.#.mlp.switch_mlp.down_proj", &["blk.#.ffn_down_exps"], Experts),
];

/// Those of Mixtral, which GGUF calls by the name of Llama.
pub(crate) const MIXTRAL_EXPERTS: &[Row] = &[
    ("layers.#.block_sparse_moe.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.block_sparse_moe.experts.#.w1", &["blk.#.ffn_gate_exps"], Expert),
    ("layers.#.block_sparse_moe.experts.#.w3", &["blk.#.ffn_up_exps"], Expert),
    ("layers.#.block_sparse_moe.experts.#.w2", &["blk.#.ffn_down_exps"], Expert),
    ("layers.#.block_sparse_moe.switch_mlp.gate_proj", &["blk.#.ffn_gate_exps"], Experts),
    ("layers.#.block_sparse_moe.switch_mlp.up_proj", &["blk.#.ffn_up_exps"], Experts),
    ("layers.#.block_sparse_moe.switch_mlp.down_proj", &["blk.#.ffn_down_exps"], Experts),
];

/// One more expert, which sees every token, with a gate of its own.
pub(crate) const SHARED_EXPERT: &[Row] = &[
    ("layers.#.mlp.shared_expert.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.mlp.shared_expert.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.mlp.shared_expert.down_proj", &["blk.#.ffn_down_shexp"], Plain),
    ("layers.#.mlp.shared_expert_gate", &["blk.#.ffn_gate_inp_shexp"], Plain),
];

pub(crate) const SHARED_EXPERTS: &[Row] = &[
    ("layers.#.mlp.shared_experts.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.mlp.shared_experts.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.mlp.shared_experts.down_proj", &["blk.#.ffn_down_shexp"], Plain),
    ("layers.#.mlp.gate.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain),
];

/// Layers of a model with experts that have none.
pub(crate) fn layers_without_experts(told: &Told<'_>, _: &Config) -> Option<Json> {
    Some(json!(told.layers_with("ffn_down.weight")))
}
