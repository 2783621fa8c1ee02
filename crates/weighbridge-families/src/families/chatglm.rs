//! ChatGLM 2 to 4, by the names of their own code.

use super::family::*;
use super::glm::ENDS;

pub(super) const CHATGLM: Family = Family {
    architecture: "chatglm",
    classes: &["ChatGLMModel", "ChatGLMForConditionalGeneration"],
    types: &["chatglm"],
    prefix: "transformer.",
    rows: &[ROWS],
    gguf: &[GGUF],
    left_out: &[("rotary_pos_emb.inv_freq", "rotary frequencies, computed from the config")],
    keys: &[KEYS],
    rules: &[RULES],
    scalings: &[],
    tokenizer: Tokenizer::BytePairs(ENDS),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    fails(&["add_bias_linear"], off, "it has biases of queries, keys and values only"),
    fails(
        &["kv_channels"],
        |case, width| width.is_null() || width.as_u64() == case.settings.head_share(),
        "heads of this family are hidden_size / num_attention_heads wide",
    ),
    differs(&["rmsnorm"], on, "has norms without a mean"),
    differs(&["post_layer_norm"], on, "norms what comes out of the last layer"),
    differs(
        &["apply_residual_connection_post_layernorm"],
        off,
        "adds what comes in before the norm",
    ),
    differs(&["pre_seq_len", "prefix_projection"], off, "has no prefix that was learned"),
    differs(&["quantization_bit"], off, "has no codes in this form"),
    // How the same is computed, and what the weights tell.
    free(&["add_qkv_bias", "apply_query_key_layer_scaling", "attention_softmax_in_fp32"]),
    free(&["bias_dropout_fusion", "interleaved_qkv", "multi_query_attention", "num_layers"]),
    free(&["original_rope", "padded_vocab_size", "prefix_projection", "eos_token_id"]),
];

const ROWS: &[Row] = &[
    ("embedding.word_embeddings", &["token_embd"], Embedding),
    ("encoder.final_layernorm", &["output_norm"], Norm),
    ("output_layer", &["output"], Embedding),
    ("encoder.layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("encoder.layers.#.self_attention.query_key_value", &["blk.#.attn_qkv"], Plain),
    ("encoder.layers.#.self_attention.dense", &["blk.#.attn_output"], Plain),
    ("encoder.layers.#.post_attention_layernorm", &["blk.#.ffn_norm"], Norm),
    ("encoder.layers.#.mlp.dense_h_to_4h", &["blk.#.ffn_up"], Plain),
    ("encoder.layers.#.mlp.dense_4h_to_h", &["blk.#.ffn_down"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Needed(&["seq_length", "hidden_size"])),
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("feed_forward_length", Count, Needed(&["ffn_hidden_size", "intermediate_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.head_count", Count, Needed(&["num_attention_heads"])),
    (
        "attention.head_count_kv",
        Count,
        Needed(&["multi_query_group_num", "num_key_value_heads", "num_attention_heads"]),
    ),
    ("attention.layer_norm_rms_epsilon", Number, Made(epsilon)),
    FILE_TYPE,
    ("rope.dimension_count", Count, Made(rotated_half)),
    ("tokenizer.ggml.add_bos_token", Flag, Made(|_| Some(false.into()))),
    ("rope.freq_base", Number, Made(base)),
];

fn epsilon(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["layernorm_epsilon"]).cloned().unwrap_or_else(|| 1e-5.into()))
}

fn rotated_half(settings: &Settings) -> Option<Json> {
    settings.head_share().map(|width| (width / 2).into())
}

fn base(settings: &Settings) -> Option<Json> {
    let ratio = settings.find(&["rope_ratio"]).and_then(Json::as_f64).unwrap_or(1.0);
    Some((10000.0 * ratio).into())
}
