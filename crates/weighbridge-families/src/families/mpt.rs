//! MPT. Its positions are slopes of attention.

use super::family::*;

pub(super) const MPT: Family = Family {
    architecture: "mpt",
    classes: &["MPTForCausalLM"],
    types: &["mpt"],
    prefix: "transformer.",
    rows: &[ROWS],
    gguf: &[GGUF],
    tied: true,
    keys: &[KEYS],
    refuse: check,
    rules: &[RULES],
    scalings: &[],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(
        &["attn_config"],
        attends_as_usual,
        "attends to what comes before, scaled by the width of a head",
    ),
    differs(&["logit_scale"], off, "does not scale the output"),
    differs(
        &["norm_type"],
        |_, kind| kind.as_str().is_none_or(|kind| kind.ends_with("layernorm")),
        "has norms with a mean",
    ),
    differs(&["embedding_layernorm"], off, "does not norm embeddings"),
    free(&["learned_pos_emb", "no_bias", "expansion_ratio", "embedding_fraction"]),
    // Of the training, and of programs that run it.
    free(&["init_config", "init_device", "emb_pdrop", "verbose", "low_precision_layernorm"]),
];

const ROWS: &[Row] = &[
    ("wte", &["token_embd"], Embedding),
    ("wpe", &["position_embd"], Positions),
    ("norm_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("blocks.#.norm_1", &["blk.#.attn_norm"], Norm),
    ("blocks.#.attn.Wqkv", &["blk.#.attn_qkv"], Plain),
    ("blocks.#.attn.q_ln", &["blk.#.attn_q_norm"], Norm),
    ("blocks.#.attn.k_ln", &["blk.#.attn_k_norm"], Norm),
    ("blocks.#.attn.out_proj", &["blk.#.attn_output"], Plain),
    ("blocks.#.norm_2", &["blk.#.ffn_norm"], Norm),
    ("blocks.#.ffn.up_proj", &["blk.#.ffn_up"], Plain),
    ("blocks.#.ffn.down_proj", &["blk.#.ffn_down"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Needed(&["max_seq_len"])),
    ("embedding_length", Count, Needed(&["d_model"])),
    ("block_count", Count, Needed(LAYERS)),
    ("feed_forward_length", Count, Made(inner)),
    ("attention.head_count", Count, Needed(&["n_heads"])),
    ("attention.head_count_kv", Count, Made(|settings| attention(settings, "kv_n_heads"))),
    ("attention.layer_norm_epsilon", Number, Made(epsilon)),
    ("attention.clamp_kqv", Number, Made(|settings| attention(settings, "clip_qkv"))),
    ("attention.max_alibi_bias", Number, Made(slopes)),
];

/// What a config says of attention.
fn attention(settings: &Settings, key: &str) -> Option<Json> {
    settings.find(&["attn_config"])?.get(key).filter(|value| !value.is_null()).cloned()
}

/// The inner size. The converter takes four times the width, and a file with another one does not load.
fn inner(settings: &Settings) -> Option<Json> {
    let ratio = settings.find(&["expansion_ratio"]).and_then(Json::as_u64).unwrap_or(4);
    settings.count("d_model")?.checked_mul(ratio).map(Json::from)
}

fn epsilon(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["layer_norm_epsilon"]).cloned().unwrap_or_else(|| 1e-5.into()))
}

/// The steepest slope is two to the power of minus this; zero for none.
fn slopes(settings: &Settings) -> Option<Json> {
    if attention(settings, "alibi").is_some_and(|alibi| alibi == false) {
        return Some(0.0.into());
    }
    attention(settings, "alibi_bias_max").or_else(|| Some(8.into()))
}

fn attends_as_usual(_: &Case<'_>, config: &Json) -> bool {
    let is_off = |key: &str| config[key].is_null() || config[key] == false;
    let is_unset = |key: &str| config[key].as_i64().is_none_or(|size| size < 0);
    ["softmax_scale", "prefix_lm", "attn_uses_sequence_id"].into_iter().all(is_off)
        && is_unset("sliding_window_size")
}

fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    if attention(settings, "rope").is_some_and(|rope| rope == true) {
        return Err(not_yet("MPT models with rotary positions"));
    }
    Ok(())
}
