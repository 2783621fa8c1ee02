//! Ling Lite and Plus, by Bailing.

use super::family::*;

pub(super) const BAILINGMOE: Family = Family {
    architecture: "bailingmoe",
    classes: &["BailingMoeForCausalLM"],
    types: &["bailing_moe"],
    rows: &[ROWS, MLP, TWO_NORMS, EXPERTS, SHARED_EXPERTS],
    pairs: true,
    keys: &[BASE, KEYS],
    refuse: check,
    rules: &[RULES, ROPE],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NEEDS_HEAD,
    NO_ATTENTION_BIAS,
    fails(&["first_k_dense_replace"], off, "every layer of this family has experts"),
    differs(&["multi_gate"], off, "has one gate for all tokens"),
    // Other values of these are rejected.
    free(&["norm_head", "use_bias", "use_qkv_bias"]),
    // Of the training.
    free(&["norm_softmax"]),
];

pub(super) const ROWS: &[Row] = &[
    ("word_embeddings", &["token_embd"], Embedding),
    ("norm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("layers.#.attention.query_key_value", QKV, Qkv),
    ("layers.#.attention.dense", &["blk.#.attn_output"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("rope.dimension_count", Count, Made(|settings| settings.head_width().map(Json::from))),
    ("leading_dense_block_count", Count, Needed(&["first_k_dense_replace"])),
    VOCABULARY,
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("expert_weights_scale", Number, Made(|_| Some(1.0.into()))),
    ("expert_shared_count", Count, Needed(&["num_shared_experts"])),
    ("expert_weights_norm", Flag, Needed(&["norm_topk_prob"])),
];

/// Refuses heads whose rows are to be normed first, and biases: no published model has any.
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    let is_on = |key: &&&str| settings.find(&[**key]).is_some_and(|value| *value == true);
    match ["norm_head", "use_bias", "use_qkv_bias"].iter().find(is_on) {
        Some(key) => Err(not_yet(&format!("models of Bailing with `{key}`"))),
        None => Ok(()),
    }
}
