//! Ling and Ring 2.0, by Bailing.

use super::bailingmoe::BAILINGMOE;
use super::family::*;

pub(super) const BAILINGMOE2: Family = Family {
    architecture: "bailingmoe2",
    classes: &["BailingMoeV2ForCausalLM"],
    types: &["bailing_moe_v2"],
    rows: &[ROWS, MLP, TWO_NORMS, EXPERTS, SHARED_EXPERTS, NEXTN],
    gguf: &[GGUF],
    pairs: false,
    predicts: true,
    counts_next: Some("num_nextn_predict_layers"),
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    ..BAILINGMOE
};

const RULES: &[Rule] = &[
    SILU,
    NEEDS_HEAD,
    fails(
        &["score_function"],
        |_, function| !function.is_null(),
        "a file has to state how experts are chosen",
    ),
    fails(
        &["head_dim"],
        |case, width| width.is_null() || width.as_u64() == case.settings.head_share(),
        "heads of this family are hidden_size / num_attention_heads wide",
    ),
    differs(&["use_qk_norm"], on, "norms queries and keys"),
    differs(&["router_dtype"], |_, dtype| dtype.is_null() || dtype == "fp32", "chooses in F32"),
    // The bias is there, or it is not.
    free(&["moe_router_enable_expert_bias", "moe_router_topk_scaling_factor", "rotary_dim"]),
    // Other values of these are rejected, and what only matters in training.
    free(&["norm_head", "use_bias", "use_qkv_bias", "norm_softmax", "use_rmsnorm"]),
    free(&["mtp_loss_scaling_factor"]),
];

const ROWS: &[Row] = &[
    ("word_embeddings", &["token_embd"], Embedding),
    ("norm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("layers.#.attention.query_key_value", &["blk.#.attn_qkv"], Plain),
    ("layers.#.attention.query_layernorm", &["blk.#.attn_q_norm"], Norm),
    ("layers.#.attention.key_layernorm", &["blk.#.attn_k_norm"], Norm),
    ("layers.#.attention.dense", &["blk.#.attn_output"], Plain),
    ("layers.#.mlp.gate.expert_bias", &["blk.#.exp_probs_b.bias"], Plain),
    ("layers.#.final_layernorm", &["blk.#.layer_output_norm"], Norm),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    ("rope.dimension_count", Count, Made(rotated_width)),
    ("leading_dense_block_count", Count, Needed(&["first_k_dense_replace"])),
    VOCABULARY,
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("expert_shared_feed_forward_length", Count, Made(shared_length)),
    ("expert_weights_scale", Number, Needed(&["routed_scaling_factor"])),
    ("expert_shared_count", Count, Needed(&["num_shared_experts"])),
    ("expert_weights_norm", Flag, Needed(&["norm_topk_prob"])),
    ("nextn_predict_layers", Count, Any(&["num_nextn_predict_layers"])),
];

/// The inner size of shared experts.
fn shared_length(settings: &Settings) -> Option<Json> {
    if let Some(stated) = settings.find(&["moe_shared_expert_intermediate_size"]) {
        return Some(stated.clone());
    }
    let each = settings.count("moe_intermediate_size")?;
    each.checked_mul(settings.count("num_shared_experts")?).map(Json::from)
}
