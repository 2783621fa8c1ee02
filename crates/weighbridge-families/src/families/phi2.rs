//! Phi 1 to 2. Its output head has a bias.

use super::family::*;

pub(super) const PHI2: Family = Family {
    architecture: "phi2",
    classes: &["PhiForCausalLM"],
    types: &["phi"],
    rows: &[ROWS, ATTENTION, ONE_NORM],
    keys: &[KEYS, UNUSUAL_ROPE],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [51200, 2048, 8192, 24, 32, 2048],
        epsilon: ("layer_norm_eps", 1e-5),
        rotated: Some(0.5),
        ..DEFAULTS
    }),
    back: Some(Back {
        made: &[("feed_forward_length", "intermediate_size")],
        rotated: Some("partial_rotary_factor"),
        flags: &[
            ("", &[Q, K, V, O, UP, DOWN]),
            ("", &["blk.#.attn_norm.bias", "output_norm.bias", "output.bias"]),
        ],
        untold: &[("qk_layernorm", "false")],
        activation: ("hidden_act", "gelu_new"),
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[GELU, NEEDS_HEAD, HEADS_SHARE, free(&["qk_layernorm"])];

const ROWS: &[Row] = &[
    ("embed_tokens", &["token_embd"], Embedding),
    ("final_layernorm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("/lm_head", &["output"], Embedding),
    ("layers.#.self_attn.dense", &["blk.#.attn_output"], Plain),
    ("layers.#.mlp.fc1", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.fc2", &["blk.#.ffn_down"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Needed(&["n_positions", "max_position_embeddings"])),
    ("embedding_length", Count, Needed(&["hidden_size", "n_embd"])),
    // The converter takes four times the width, and one key head for each query head, whatever the
    // config says; such files do not load.
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.head_count", Count, Needed(&["num_attention_heads", "n_head"])),
    ("attention.head_count_kv", Count, Needed(&["num_key_value_heads"])),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_epsilon", "layer_norm_eps"])),
    ("rope.dimension_count", Count, Made(rotated_hidden)),
    FILE_TYPE,
    ("tokenizer.ggml.add_bos_token", Flag, Made(|_| Some(false.into()))),
];
