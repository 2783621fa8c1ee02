//! LLaDA, a diffusion model that is made as Llama is.

use super::family::*;

pub(super) const LLADA: Family = Family {
    architecture: "llada",
    classes: &["LLaDAModelLM"],
    types: &["llada"],
    prefix: "model.transformer.",
    rows: &[ROWS],
    pairs: true,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::MarkedAndBegun,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["activation_type"], silu, "uses silu"),
    differs(&["block_type"], |_, kind| kind == "llama", "runs the blocks of Llama"),
    differs(&["layer_norm_type"], |_, kind| kind == "rms", "uses RMS norms"),
    differs(&["rope"], on, "rotates positions"),
    differs(&["alibi"], off, "has no ALiBi in this family"),
    differs(&["scale_logits"], off, "does not scale logits in this family"),
    differs(&["input_emb_norm"], off, "does not scale embeddings in this family"),
    differs(&["clip_qkv"], off, "does not clip queries, keys and values in this family"),
    differs(&["attention_layer_norm"], off, "has no norms of queries and keys in this family"),
    differs(&["multi_query_attention"], off, "takes the key heads that n_kv_heads states"),
    // What weights tell, and what only matters in training.
    free(&[
        "alibi_bias_max",
        "attention_layer_norm_with_affine",
        "bias_for_layer_norm",
        "block_group_size",
        "embedding_size",
        "flash_attention",
        "include_bias",
        "include_qkv_bias",
        "init_cutoff_factor",
        "init_device",
        "init_fn",
        "layer_norm_with_affine",
        "mlp_ratio",
        "precision",
        "rope_full_precision",
        "weight_tying",
    ]),
];

const ROWS: &[Row] = &[
    ("wte", &["token_embd"], Embedding),
    ("blocks.#.attn_norm", &["blk.#.attn_norm"], Norm),
    ("blocks.#.q_proj", &["blk.#.attn_q"], Query),
    ("blocks.#.k_proj", &["blk.#.attn_k"], Key),
    ("blocks.#.v_proj", &["blk.#.attn_v"], Plain),
    ("blocks.#.attn_out", &["blk.#.attn_output"], Plain),
    ("blocks.#.ff_norm", &["blk.#.ffn_norm"], Norm),
    ("blocks.#.ff_proj", &["blk.#.ffn_gate"], Plain),
    ("blocks.#.up_proj", &["blk.#.ffn_up"], Plain),
    ("blocks.#.ff_out", &["blk.#.ffn_down"], Plain),
    ("ln_f", &["output_norm"], Norm),
    ("ff_out", &["output"], Embedding),
];

const KEYS: &[KeyRow] = &[
    POOLING,
    VOCABULARY,
    ("rope.dimension_count", Count, Made(width)),
    ("context_length", Count, Made(|settings| or(settings, "max_sequence_length", 4096))),
    ("embedding_length", Count, Made(|settings| or(settings, "d_model", 4096))),
    ("feed_forward_length", Count, Made(|settings| or(settings, "mlp_hidden_size", 12288))),
    // Every token sees the whole text.
    ("attention.causal", Flag, Made(|_| Some(false.into()))),
    ("diffusion.shift_logits", Flag, Made(|_| Some(false.into()))),
];

fn or(settings: &Settings, key: &str, otherwise: u64) -> Option<Json> {
    Some(settings.find(&[key]).cloned().unwrap_or_else(|| otherwise.into()))
}

fn width(settings: &Settings) -> Option<Json> {
    let width = settings.count("d_model")?.checked_div(settings.count("n_heads")?);
    settings.count("head_dim").or(width).map(Json::from)
}
