//! BLOOM. Its positions are slopes of attention, which llama.cpp computes.

use super::family::*;

pub(super) const BLOOM: Family = Family {
    architecture: "bloom",
    classes: &["BloomForCausalLM", "BloomModel"],
    types: &["bloom"],
    prefix: "transformer.",
    rows: &[ROWS],
    tied: true,
    keys: &[KEYS],
    rules: &[RULES],
    scalings: &[],
    // Published configs call sizes by other names than the class: it fills in none.
    defaults: Some(Defaults {
        names: ["vocab_size", "hidden_size", "", "n_layer", "n_head", ""],
        key_heads: KeyHeads::Unsaid,
        epsilon: ("layer_norm_epsilon", 1e-5),
        learns_positions: true,
        ..DEFAULTS
    }),
    back: Some(Back {
        made: &[("context_length", "seq_length")],
        flags: &[("", BIASES)],
        untold: &[
            ("apply_residual_connection_post_layernorm", "false"),
            ("pretraining_tp", "1"),
            ("slow_but_exact", "false"),
        ],
        activation: ("", ""),
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(
        &["apply_residual_connection_post_layernorm"],
        off,
        "adds what comes in before the norm",
    ),
    // How the training computed the same.
    free(&["slow_but_exact", "skip_bias_add", "skip_bias_add_qkv", "bias_dropout_fusion"]),
    free(&["attention_softmax_in_fp32", "masked_softmax_fusion", "offset_alibi", "n_inner"]),
];

const ROWS: &[Row] = &[
    ("word_embeddings", &["token_embd"], Embedding),
    ("word_embeddings_layernorm", &["token_embd_norm"], Norm),
    ("ln_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("h.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("h.#.self_attention.query_key_value", QKV, Grouped),
    ("h.#.self_attention.dense", &["blk.#.attn_output"], Plain),
    ("h.#.post_attention_layernorm", &["blk.#.ffn_norm"], Norm),
    ("h.#.mlp.dense_h_to_4h", &["blk.#.ffn_up"], Plain),
    ("h.#.mlp.dense_4h_to_h", &["blk.#.ffn_down"], Plain),
];

const WIDTH: &[&str] = &["hidden_size", "n_embed"];
const HEADS: &[&str] = &["n_head", "num_attention_heads"];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Made(context)),
    ("embedding_length", Count, Needed(WIDTH)),
    ("feed_forward_length", Count, Made(inner)),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.head_count", Count, Needed(HEADS)),
    ("attention.head_count_kv", Count, Needed(HEADS)),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_epsilon"])),
    FILE_TYPE,
];

fn inner(settings: &Settings) -> Option<Json> {
    settings.find(WIDTH).and_then(Json::as_u64)?.checked_mul(4).map(Json::from)
}

/// Slopes end nowhere: where nothing is said, the converter takes the width.
fn context(settings: &Settings) -> Option<Json> {
    settings.find(&["seq_length", "n_embed", "hidden_size"]).cloned()
}

const BIASES: &[&str] = &[
    "token_embd_norm.bias",
    "output_norm.bias",
    "blk.#.attn_norm.bias",
    "blk.#.ffn_norm.bias",
    "blk.#.attn_qkv.bias",
    O,
    UP,
    DOWN,
];
