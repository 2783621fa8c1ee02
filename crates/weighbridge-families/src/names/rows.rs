//! The names: which modules of Hugging Face's (and of the model makers' own) checkpoints are which
//! tensors of a GGUF file.
//!
//! A row is a module's name, the GGUF tensors that are in it, and how they lie there. `#` stands
//! for a number: of the layer, then of the expert. Names stand without `.weight` or `.bias`, unless
//! GGUF's ending is another one, and Hugging Face's without what comes before `layers` (`model.`
//! mostly).
//!
//! GGUF's names are the common ones: everything is translated into them.

use super::linear::Part;
use super::table::How::{
    self, Across, Decay, Embedding, Expert, Experts, InTurn, Key, Linear, Norm, Plain, Query,
    Stacked,
};
use super::table::Row;

pub(super) const TRUNK: &[Row] = &[
    ("embed_tokens", &["token_embd"], Embedding),
    ("norm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
];

pub(super) const ATTENTION: &[Row] = &[
    ("layers.#.self_attn.q_proj", &["blk.#.attn_q"], Query),
    ("layers.#.self_attn.k_proj", &["blk.#.attn_k"], Key),
    ("layers.#.self_attn.v_proj", &["blk.#.attn_v"], Plain),
    ("layers.#.self_attn.o_proj", &["blk.#.attn_output"], Plain),
    ("layers.#.self_attn.qkv_proj", QKV, How::Qkv),
];

const QKV: &[&str] = &["blk.#.attn_q", "blk.#.attn_k", "blk.#.attn_v"];

pub(super) const HEAD_NORMS: &[Row] = &[
    ("layers.#.self_attn.q_norm", &["blk.#.attn_q_norm"], Norm),
    ("layers.#.self_attn.k_norm", &["blk.#.attn_k_norm"], Norm),
];

pub(super) const MLP: &[Row] = &[
    ("layers.#.mlp.gate_proj", &["blk.#.ffn_gate"], Plain),
    ("layers.#.mlp.up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.down_proj", &["blk.#.ffn_down"], Plain),
    ("layers.#.mlp.gate_up_proj", &["blk.#.ffn_gate", "blk.#.ffn_up"], Plain),
];

/// Gate and up stay in one matrix, which GGUF calls up.
pub(super) const FUSED_MLP: &[Row] = &[
    ("layers.#.mlp.gate_up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.down_proj", &["blk.#.ffn_down"], Plain),
];

/// Without a gate.
pub(super) const UNGATED_MLP: &[Row] = &[
    ("layers.#.mlp.c_fc", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.c_proj", &["blk.#.ffn_down"], Plain),
];

/// Attention and feed-forward side by side, behind one norm.
pub(super) const ONE_NORM: &[Row] = &[("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm)];

pub(super) const TWO_NORMS: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.ffn_norm"], Norm),
];

/// Norms behind attention and feed-forward, none before.
pub(super) const NORMS_AFTER: &[Row] = &[
    ("layers.#.post_attention_layernorm", &["blk.#.post_attention_norm"], Norm),
    ("layers.#.post_feedforward_layernorm", &["blk.#.post_ffw_norm"], Norm),
];

/// Norms before and behind attention.
pub(super) const NORMS_BETWEEN: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.post_attention_norm"], Norm),
];

/// GLM's four.
pub(super) const GLM_NORMS: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_self_attn_layernorm", &["blk.#.post_attention_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.post_mlp_layernorm", &["blk.#.post_ffw_norm"], Norm),
];

pub(super) const FOUR_NORMS: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.post_attention_norm"], Norm),
    ("layers.#.pre_feedforward_layernorm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.post_feedforward_layernorm", &["blk.#.post_ffw_norm"], Norm),
];

const GATE_UP_EXPERTS: &[&str] = &["blk.#.ffn_gate_exps", "blk.#.ffn_up_exps"];

/// One by one as checkpoints have them, fused as transformers 5 has them, stacked as MLX does.
pub(super) const EXPERTS: &[Row] = &[
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

/// One more expert, which sees every token, with a gate of its own.
pub(super) const SHARED_EXPERT: &[Row] = &[
    ("layers.#.mlp.shared_expert.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.mlp.shared_expert.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.mlp.shared_expert.down_proj", &["blk.#.ffn_down_shexp"], Plain),
    ("layers.#.mlp.shared_expert_gate", &["blk.#.ffn_gate_inp_shexp"], Plain),
];

pub(super) const SHARED_EXPERTS: &[Row] = &[
    ("layers.#.mlp.shared_experts.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.mlp.shared_experts.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.mlp.shared_experts.down_proj", &["blk.#.ffn_down_shexp"], Plain),
    ("layers.#.mlp.gate.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain),
];

/// What a layer that predicts one more token has beside the rest.
pub(super) const NEXTN: &[Row] = &[
    ("layers.#.embed_tokens", &["blk.#.nextn.embed_tokens"], Embedding),
    ("layers.#.enorm", &["blk.#.nextn.enorm"], Norm),
    ("layers.#.hnorm", &["blk.#.nextn.hnorm"], Norm),
    ("layers.#.eh_proj", &["blk.#.nextn.eh_proj"], Plain),
    ("layers.#.shared_head.norm", &["blk.#.nextn.shared_head_norm"], Norm),
    ("layers.#.shared_head.head", &["blk.#.nextn.shared_head_head"], Embedding),
];

pub(super) const LLAMA4: &[Row] = &[
    ("layers.#.feed_forward.gate_proj", &["blk.#.ffn_gate"], Plain),
    ("layers.#.feed_forward.up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.feed_forward.down_proj", &["blk.#.ffn_down"], Plain),
    ("layers.#.feed_forward.router", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.feed_forward.experts.gate_up_proj", GATE_UP_EXPERTS, Across),
    ("layers.#.feed_forward.experts.down_proj", &["blk.#.ffn_down_exps"], Across),
    ("layers.#.feed_forward.shared_expert.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.feed_forward.shared_expert.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.feed_forward.shared_expert.down_proj", &["blk.#.ffn_down_shexp"], Plain),
];

const GATE_UP_BIASES: &[&str] = &["blk.#.ffn_gate_exps.bias", "blk.#.ffn_up_exps.bias"];

pub(super) const GPT_OSS: &[Row] = &[
    ("layers.#.self_attn.sinks", &["blk.#.attn_sinks"], Plain),
    ("layers.#.mlp.router", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mlp.experts.gate_up_proj", GATE_UP_EXPERTS, InTurn),
    ("layers.#.mlp.experts.gate_up_proj_bias", GATE_UP_BIASES, InTurn),
    ("layers.#.mlp.experts.down_proj", &["blk.#.ffn_down_exps"], Across),
    ("layers.#.mlp.experts.down_proj_bias", &["blk.#.ffn_down_exps.bias"], Plain),
];

const KEY_VALUE: &[&str] = &["blk.#.attn_k_b", "blk.#.attn_v_b"];

/// DeepSeek's attention, whose keys and values are made from a shorter vector.
pub(super) const LATENT_ATTENTION: &[Row] = &[
    ("layers.#.self_attn.q_a_proj", &["blk.#.attn_q_a"], Plain),
    ("layers.#.self_attn.q_a_layernorm", &["blk.#.attn_q_a_norm"], Norm),
    ("layers.#.self_attn.q_b_proj", &["blk.#.attn_q_b"], Plain),
    ("layers.#.self_attn.kv_a_proj_with_mqa", &["blk.#.attn_kv_a_mqa"], Plain),
    ("layers.#.self_attn.kv_a_layernorm", &["blk.#.attn_kv_a_norm"], Norm),
    ("layers.#.self_attn.kv_b_proj", KEY_VALUE, How::KeyValue),
];

/// Qwen's attention without a cache of keys and values. Nothing is added to its norm.
pub(super) const LINEAR_ATTENTION: &[Row] = &[
    ("layers.#.linear_attn.in_proj_qkv", &["blk.#.attn_qkv"], Linear(Part::Mixed)),
    ("layers.#.linear_attn.in_proj_z", &["blk.#.attn_gate"], Linear(Part::Values)),
    ("layers.#.linear_attn.in_proj_a", &["blk.#.ssm_alpha"], Linear(Part::Heads)),
    ("layers.#.linear_attn.in_proj_b", &["blk.#.ssm_beta"], Linear(Part::Heads)),
    ("layers.#.linear_attn.conv1d", &["blk.#.ssm_conv1d"], Linear(Part::Mixed)),
    ("layers.#.linear_attn.dt_bias", &["blk.#.ssm_dt.bias"], Linear(Part::Heads)),
    ("layers.#.linear_attn.A_log", &["blk.#.ssm_a"], Decay),
    ("layers.#.linear_attn.norm", &["blk.#.ssm_norm"], Plain),
    ("layers.#.linear_attn.out_proj", &["blk.#.ssm_out"], Linear(Part::Columns)),
];

pub(super) const MIXTRAL: &[Row] = &[
    ("layers.#.block_sparse_moe.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.block_sparse_moe.experts.#.w1", &["blk.#.ffn_gate_exps"], Expert),
    ("layers.#.block_sparse_moe.experts.#.w3", &["blk.#.ffn_up_exps"], Expert),
    ("layers.#.block_sparse_moe.experts.#.w2", &["blk.#.ffn_down_exps"], Expert),
    ("layers.#.block_sparse_moe.switch_mlp.gate_proj", &["blk.#.ffn_gate_exps"], Experts),
    ("layers.#.block_sparse_moe.switch_mlp.up_proj", &["blk.#.ffn_up_exps"], Experts),
    ("layers.#.block_sparse_moe.switch_mlp.down_proj", &["blk.#.ffn_down_exps"], Experts),
];

/// Models that read in both directions. Their heads for classes stand outside of the model.
pub(super) const BOTH_WAYS: &[Row] = &[
    ("embeddings.word_embeddings", &["token_embd"], Embedding),
    ("embeddings.position_embeddings", &["position_embd"], How::Positions),
    ("embeddings.token_type_embeddings", &["token_types"], Plain),
    ("embeddings.LayerNorm", &["token_embd_norm"], Norm),
    ("encoder.layer.#.attention.self.query", &["blk.#.attn_q"], Query),
    ("encoder.layer.#.attention.self.key", &["blk.#.attn_k"], Key),
    ("encoder.layer.#.attention.self.value", &["blk.#.attn_v"], Plain),
    ("encoder.layer.#.attention.output.dense", &["blk.#.attn_output"], Plain),
    ("encoder.layer.#.attention.output.LayerNorm", &["blk.#.attn_output_norm"], Norm),
    ("encoder.layer.#.intermediate.dense", &["blk.#.ffn_up"], Plain),
    ("encoder.layer.#.output.dense", &["blk.#.ffn_down"], Plain),
    ("encoder.layer.#.output.LayerNorm", &["blk.#.layer_output_norm"], Norm),
    // A classifier of one layer.
    ("classifier", &["cls.output"], Plain),
    ("classifier.dense", &["cls"], Plain),
    ("classifier.out_proj", &["cls.output"], Plain),
];

/// The same without positions of its own, in the names of another library.
pub(super) const NOMIC_BERT: &[Row] = &[
    ("embeddings.word_embeddings", &["token_embd"], Embedding),
    ("embeddings.token_type_embeddings", &["token_types"], Plain),
    ("emb_ln", &["token_embd_norm"], Norm),
    ("encoder.layers.#.attn.Wqkv", QKV, How::Qkv),
    ("encoder.layers.#.attn.out_proj", &["blk.#.attn_output"], Plain),
    ("encoder.layers.#.norm1", &["blk.#.attn_output_norm"], Norm),
    ("encoder.layers.#.mlp.fc11", &["blk.#.ffn_up"], Plain),
    ("encoder.layers.#.mlp.fc12", &["blk.#.ffn_gate"], Plain),
    ("encoder.layers.#.mlp.fc2", &["blk.#.ffn_down"], Plain),
    ("encoder.layers.#.norm2", &["blk.#.layer_output_norm"], Norm),
];

/// GGUF's tensors that are several of the common ones; all others are common names already.
pub(super) const GGUF: &[Row] = &[
    ("blk.#.attn_k_b", &["blk.#.attn_k_b"], How::Heads),
    // Before keys and values were told apart.
    ("blk.#.attn_kv_b", KEY_VALUE, How::KeyValue),
    ("blk.#.ffn_gate_exps", &["blk.#.ffn_gate_exps"], Experts),
    ("blk.#.ffn_up_exps", &["blk.#.ffn_up_exps"], Experts),
    ("blk.#.ffn_down_exps", &["blk.#.ffn_down_exps"], Experts),
    ("blk.#.ffn_gate.#", &["blk.#.ffn_gate_exps"], Expert),
    ("blk.#.ffn_up.#", &["blk.#.ffn_up_exps"], Expert),
    ("blk.#.ffn_down.#", &["blk.#.ffn_down_exps"], Expert),
];

/// Queries, keys and values as one matrix.
pub(super) const GGUF_FUSED: &[Row] = &[("blk.#.attn_qkv", QKV, How::Qkv)];

/// Its columns go by value heads, which Hugging Face has in another order.
pub(super) const GGUF_LINEAR: &[Row] =
    &[("blk.#.ssm_out", &["blk.#.ssm_out"], Linear(Part::Columns))];

/// What layers that predict further tokens are called where they stand beside the model, and what
/// in one of its layers.
pub(super) const BESIDE: &[(&str, &str)] = &[
    ("fc", "eh_proj"),
    ("pre_fc_norm_embedding", "enorm"),
    ("pre_fc_norm_hidden", "hnorm"),
    ("norm", "shared_head.norm"),
];

/// What Meta and Mistral call them in the checkpoints they publish themselves (`consolidated`).
/// GGUF's order of rows is theirs.
pub(super) const CONSOLIDATED: &[Row] = &[
    ("tok_embeddings", &["token_embd"], Embedding),
    ("norm", &["output_norm"], Norm),
    ("output", &["output"], Embedding),
    ("layers.#.attention.wq", &["blk.#.attn_q"], Plain),
    ("layers.#.attention.wk", &["blk.#.attn_k"], Plain),
    ("layers.#.attention.wv", &["blk.#.attn_v"], Plain),
    ("layers.#.attention.wo", &["blk.#.attn_output"], Plain),
    ("layers.#.attention_norm", &["blk.#.attn_norm"], Norm),
    ("layers.#.ffn_norm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.feed_forward.w1", &["blk.#.ffn_gate"], Plain),
    ("layers.#.feed_forward.w3", &["blk.#.ffn_up"], Plain),
    ("layers.#.feed_forward.w2", &["blk.#.ffn_down"], Plain),
];
