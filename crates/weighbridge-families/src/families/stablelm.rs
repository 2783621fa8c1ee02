//! StableLM.

use super::family::*;

pub(super) const STABLELM: Family = Family {
    architecture: "stablelm",
    classes: &["StableLmForCausalLM", "StableLMEpochForCausalLM", "LlavaStableLMEpochForCausalLM"],
    types: &["stablelm", "stablelm_epoch"],
    rows: &[TRUNK, ATTENTION, MLP, NORMS],
    gguf: &[GGUF, GGUF_FUSED, GGUF_HEAD_VECTORS],
    keys: &[KEYS, UNUSUAL_ROPE],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [50304, 2560, 6912, 32, 32, 4096],
        key_heads: KeyHeads::Of(32),
        epsilon: ("layer_norm_eps", 1e-5),
        rotated: Some(0.25),
        flags: &[("use_parallel_residual", false)],
        ..DEFAULTS
    }),
    back: Some(Back {
        rotated: Some("partial_rotary_factor"),
        flags: &[
            ("use_qkv_bias", &[Q, K, V]),
            ("qk_layernorm", &["blk.#.attn_q_norm.weight", "blk.#.attn_k_norm.weight"]),
            ("!use_parallel_residual", &["blk.#.ffn_norm.weight", "blk.#.ffn_norm.bias"]),
            ("", &["blk.#.attn_norm.bias", "output_norm.bias"]),
        ],
        // No file says it, and llama.cpp takes no other.
        untold: &[],
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    free(&["use_qkv_bias", "qk_layernorm", "norm_eps", "num_heads"]),
    NEEDS_HEAD,
    HEADS_SHARE,
    differs(&["rotary_scaling_factor"], is_one, "does not scale rotary positions"),
];

/// The largest has a norm for each head, and none between attention and what stands beside it.
const NORMS: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.ffn_norm"], Plain),
    ("layers.#.self_attn.q_layernorm.norms.#", &["blk.#.attn_q_norm"], Expert),
    ("layers.#.self_attn.k_layernorm.norms.#", &["blk.#.attn_k_norm"], Expert),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Needed(&["max_position_embeddings"])),
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("rope.dimension_count", Count, Made(rotated)),
    ("attention.head_count", Count, Needed(&["num_attention_heads"])),
    ("attention.head_count_kv", Count, Needed(&["num_key_value_heads"])),
    ("use_parallel_residual", Flag, Made(parallel)),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_eps", "norm_eps"])),
    FILE_TYPE,
];

/// The class of transformers fills it in; that of the first repositories has no such key.
fn parallel(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["use_parallel_residual"]).cloned().unwrap_or_else(|| true.into()))
}

fn rotated(settings: &Settings) -> Option<Json> {
    let factor = settings.rope(&["partial_rotary_factor"])?;
    part(factor, settings.head_share()?).map(Json::from)
}
