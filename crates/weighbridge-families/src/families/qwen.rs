//! Qwen, the first.

use super::family::*;

pub(super) const QWEN: Family = Family {
    architecture: "qwen",
    classes: &["QWenLMHeadModel"],
    types: &["qwen"],
    prefix: "transformer.",
    rows: &[ROWS],
    gguf: &[GGUF],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::Tiktoken,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    NEEDS_HEAD,
    differs(&["use_dynamic_ntk"], off, "does not change the base of positions in long texts"),
    differs(&["use_logn_attn"], off, "does not scale attention in long texts"),
    differs(&["rotary_pct"], |_, part| is_number(part, 1.0), "rotates all of a head"),
    fails(
        &["kv_channels"],
        |case, width| width.is_null() || width.as_u64() == case.settings.head_share(),
        "heads of this family are hidden_size / num_attention_heads wide",
    ),
    differs(&["scale_attn_weights"], on, "divides queries by the root of the width of a head"),
    free(&["no_bias", "onnx_safe", "bf16", "fp16", "fp32", "softmax_in_fp32", "attn_dropout_prob"]),
    free(&["emb_dropout_prob", "position_embedding_type", "rotary_emb_base"]),
];

const ROWS: &[Row] = &[
    ("wte", &["token_embd"], Embedding),
    ("ln_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("h.#.ln_1", &["blk.#.attn_norm"], Norm),
    ("h.#.attn.c_attn", &["blk.#.attn_qkv"], Plain),
    ("h.#.attn.c_proj", &["blk.#.attn_output"], Plain),
    ("h.#.ln_2", &["blk.#.ffn_norm"], Norm),
    ("h.#.mlp.w1", &["blk.#.ffn_up"], Plain),
    ("h.#.mlp.w2", &["blk.#.ffn_gate"], Plain),
    ("h.#.mlp.c_proj", &["blk.#.ffn_down"], Plain),
];

/// The converter leaves it out, and such a file does not load.
const KEYS: &[KeyRow] =
    &[("attention.layer_norm_rms_epsilon", Number, Needed(&["layer_norm_epsilon"]))];
