//! Attention that makes its keys and values in other ways.

use super::rows::How::{Decay, Linear, Norm, Plain};
use super::rows::{How, KEY_VALUE, Part, Row};

/// DeepSeek's attention, whose keys and values are made from a shorter vector.
pub(crate) const LATENT_ATTENTION: &[Row] = &[
    ("layers.#.self_attn.q_a_proj", &["blk.#.attn_q_a"], Plain),
    ("layers.#.self_attn.q_a_layernorm", &["blk.#.attn_q_a_norm"], Norm),
    ("layers.#.self_attn.q_b_proj", &["blk.#.attn_q_b"], Plain),
    ("layers.#.self_attn.kv_a_proj_with_mqa", &["blk.#.attn_kv_a_mqa"], Plain),
    ("layers.#.self_attn.kv_a_layernorm", &["blk.#.attn_kv_a_norm"], Norm),
    ("layers.#.self_attn.kv_b_proj", KEY_VALUE, How::KeyValue),
];

/// Qwen's attention without a cache of keys and values. Nothing is added to its norm.
pub(crate) const LINEAR_ATTENTION: &[Row] = &[
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

/// Its columns go by value heads, which Hugging Face has in another order.
pub(crate) const GGUF_LINEAR: &[Row] =
    &[("blk.#.ssm_out", &["blk.#.ssm_out"], Linear(Part::Columns))];
