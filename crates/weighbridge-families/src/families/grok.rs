//! Grok 1.

use super::family::*;

pub(super) const GROK: Family = Family {
    architecture: "grok",
    classes: &["GrokForCausalLM"],
    types: &["grok-1"],
    prefix: "transformer.",
    rows: &[OLD, NEW],
    stacks: &[".ffn_gate_exps.", ".ffn_down_exps.", ".ffn_up_exps."],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::PiecesOrPairs,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    GELU,
    differs(&["sliding_window_size"], |_, size| size.as_i64().is_none_or(|size| size <= 0), ALL),
    differs(&["global_attn_every_n"], is_one, ALL),
    // What weights tell, and what scales rotary positions.
    free(&["residual_moe", "rope_type", "scaling_factor", "extrapolation_factor", "attn_factor"]),
    free(&["beta_fast", "beta_slow"]),
];

const ALL: &str = "lets every layer see the whole text";

/// The names of the first checkpoint.
pub(super) const OLD: &[Row] = &[
    ("in_out_embed", &["token_embd"], Embedding),
    ("rms_norm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("decoder_layer.#.rms_norm", &["blk.#.attn_norm"], Norm),
    ("decoder_layer.#.multi_head_attention.query", &["blk.#.attn_q"], Query),
    ("decoder_layer.#.multi_head_attention.key", &["blk.#.attn_k"], Key),
    ("decoder_layer.#.multi_head_attention.value", &["blk.#.attn_v"], Plain),
    ("decoder_layer.#.multi_head_attention.linear", &["blk.#.attn_output"], Plain),
    ("decoder_layer.#.rms_norm_1", &["blk.#.attn_output_norm"], Norm),
    ("decoder_layer.#.rms_norm_2", &["blk.#.ffn_norm"], Norm),
    ("decoder_layer.#.rms_norm_3", &["blk.#.layer_output_norm"], Norm),
    ("decoder_layer.#.router", &["blk.#.ffn_gate_inp"], Plain),
    ("decoder_layer.#.moe.#.linear", &["blk.#.ffn_gate_exps"], Expert),
    ("decoder_layer.#.moe.#.linear_v", &["blk.#.ffn_up_exps"], Expert),
    ("decoder_layer.#.moe.#.linear_1", &["blk.#.ffn_down_exps"], Expert),
];

/// Those of Grok 2.
pub(super) const NEW: &[Row] = &[
    ("embed_tokens", &["token_embd"], Embedding),
    ("norm", &["output_norm"], Norm),
    ("layers.#.pre_attn_norm", &["blk.#.attn_norm"], Norm),
    ("layers.#.self_attn.q_proj", &["blk.#.attn_q"], Query),
    ("layers.#.self_attn.k_proj", &["blk.#.attn_k"], Key),
    ("layers.#.self_attn.v_proj", &["blk.#.attn_v"], Plain),
    ("layers.#.self_attn.o_proj", &["blk.#.attn_output"], Plain),
    ("layers.#.post_attn_norm", &["blk.#.attn_output_norm"], Norm),
    ("layers.#.pre_moe_norm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.post_moe_norm", &["blk.#.post_ffw_norm"], Norm),
    ("layers.#.mlp.gate_proj", &["blk.#.ffn_gate"], Plain),
    ("layers.#.mlp.up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.down_proj", &["blk.#.ffn_down"], Plain),
    ("layers.#.block_sparse_moe.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.block_sparse_moe.experts.#.w1", &["blk.#.ffn_gate_exps"], Expert),
    ("layers.#.block_sparse_moe.experts.#.w3", &["blk.#.ffn_up_exps"], Expert),
    ("layers.#.block_sparse_moe.experts.#.w2", &["blk.#.ffn_down_exps"], Expert),
];

const KEYS: &[KeyRow] = &[
    ("attn_logit_softcapping", Number, Made(|settings| or(settings, "attn_logit_softcapping"))),
    ("router_logit_softcapping", Number, Made(|settings| or(settings, "router_logit_softcapping"))),
    (
        "final_logit_softcapping",
        Number,
        Made(|settings| nonzero(settings, "final_logit_softcapping")),
    ),
    ("expert_feed_forward_length", Count, Any(&["moe_intermediate_size"])),
    ("rope.scaling.type", Text, Made(|settings| is_scaled(settings).then(|| "yarn".into()))),
    ("rope.scaling.factor", Number, Made(|settings| scaled(settings, "scaling_factor"))),
    (
        "rope.scaling.original_context_length",
        Count,
        Made(|settings| scaled(settings, "original_max_position_embeddings")),
    ),
    ("rope.scaling.yarn_ext_factor", Number, Made(|s| scaled(s, "extrapolation_factor"))),
    ("rope.scaling.yarn_attn_factor", Number, Made(|settings| scaled(settings, "attn_factor"))),
    ("rope.scaling.yarn_beta_fast", Number, Made(|settings| scaled(settings, "beta_fast"))),
    ("rope.scaling.yarn_beta_slow", Number, Made(|settings| scaled(settings, "beta_slow"))),
    ("attention.temperature_length", Count, Made(|s| nonzero(s, "attn_temperature_len"))),
    ("attention.output_scale", Number, Made(scale)),
    ("embedding_scale", Number, Needed(&["embedding_multiplier_scale"])),
    ("logit_scale", Number, Needed(&["output_multiplier_scale"])),
];

/// Where logits of attention and of routers are capped.
fn or(settings: &Settings, key: &str) -> Option<Json> {
    Some(settings.find(&[key]).cloned().unwrap_or(30.0.into()))
}

/// Published configs call YaRN by another name too.
fn is_scaled(settings: &Settings) -> bool {
    let kind = settings.find(&["rope_type"]).and_then(Json::as_str);
    ["yarn", "original"].contains(&kind.unwrap_or_default())
}

/// A value of YaRN's; one that is missing is refused.
fn scaled(settings: &Settings, key: &str) -> Option<Json> {
    is_scaled(settings).then(|| settings.find(&[key]).cloned().unwrap_or_default())
}

/// What products of queries and keys are multiplied by.
fn scale(settings: &Settings) -> Option<Json> {
    let stated = settings.find(&["attn_output_multiplier"]).cloned();
    stated.or_else(|| Some((settings.head_width()? as f64).powf(-0.5).into()))
}
