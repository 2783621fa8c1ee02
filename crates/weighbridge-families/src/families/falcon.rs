//! Falcon, with one key head for all query heads, or one for each group of them.

use super::family::*;

pub(super) const FALCON: Family = Family {
    architecture: "falcon",
    classes: &["FalconForCausalLM", "RWForCausalLM"],
    types: &["falcon", "RefinedWeb", "RefinedWebModel"],
    prefix: "transformer.",
    rows: &[ROWS],
    tied: true,
    keys: &[KEYS, UNUSUAL_ROPE],
    refuse: check,
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        names: ["vocab_size", "hidden_size", "", "num_hidden_layers", "num_attention_heads", ""],
        sizes: [65024, 4544, 0, 32, 71, 0],
        key_heads: KeyHeads::Unsaid,
        epsilon: ("layer_norm_epsilon", 1e-5),
        flags: &[("multi_query", true), ("parallel_attn", true)],
        ..DEFAULTS
    }),
    back: Some(Back {
        is: |told| !told.has("blk.0.attn_norm_2.weight"),
        made: &[
            ("context_length", "max_position_embeddings"),
            ("feed_forward_length", "ffn_hidden_size"),
        ],
        flags: &[("", &["blk.#.attn_norm.bias", "output_norm.bias"])],
        fixed: &[
            ("num_kv_heads", |told, _| as_json(&told.own(KEY_HEADS)?)),
            ("num_key_value_heads", |told, _| as_json(&told.own(KEY_HEADS)?)),
            ("multi_query", |told, _| Some((told.own(KEY_HEADS)?.as_u64()? == 1).into())),
            ("new_decoder_architecture", |told, _| is_grouped(told).map(Json::from)),
            ("num_ln_in_parallel_attn", |told, _| is_grouped(told)?.then(|| 1.into())),
        ],
        untold: &[
            ("alibi", "false"),
            ("apply_residual_connection_post_layernorm", "false"),
            ("bias", "false"),
            ("num_ln_in_parallel_attn", "null"),
            ("parallel_attn", "true"),
        ],
        activation: ("activation", "gelu"),
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["activation"], gelu, "uses gelu"),
    fails(&["bias"], off, "it has no biases in this family"),
    // How many norms there are is what weights tell.
    free(&["new_decoder_architecture", "num_ln_in_parallel_attn", "parallel_attn", "multi_query"]),
    free(&["num_kv_heads", "ff_factor", "apply_residual_connection_post_layernorm"]),
];

pub(super) const ROWS: &[Row] = &[
    ("word_embeddings", &["token_embd"], Embedding),
    ("ln_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("h.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("h.#.ln_mlp", &["blk.#.attn_norm"], Norm),
    ("h.#.ln_attn", &["blk.#.attn_norm_2"], Norm),
    ("h.#.self_attention.query_key_value", QKV, Grouped),
    ("h.#.self_attention.dense", &["blk.#.attn_output"], Plain),
    ("h.#.mlp.dense_h_to_4h", &["blk.#.ffn_up"], Plain),
    ("h.#.mlp.dense_4h_to_h", &["blk.#.ffn_down"], Plain),
];

const HEADS: &[&str] = &["num_attention_heads", "n_head"];

const KEYS: &[KeyRow] = &[
    // Configs of the first models do not say.
    ("context_length", Count, Made(|_| Some(2048.into()))),
    ("tensor_data_layout", Text, Made(|_| Some("jploski".into()))),
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("feed_forward_length", Count, Made(inner)),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.head_count", Count, Needed(HEADS)),
    ("attention.head_count_kv", Count, Made(key_heads)),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_epsilon"])),
    FILE_TYPE,
];

/// The inner size. The converter takes four times the width, and a file with another one does not load.
fn inner(settings: &Settings) -> Option<Json> {
    let stated = settings.count("ffn_hidden_size");
    stated.or_else(|| settings.count("hidden_size")?.checked_mul(4)).map(Json::from)
}

/// One, unless the layers are of the newer kind, or a config says that heads do not share.
fn key_heads(settings: &Settings) -> Option<Json> {
    let is = |key: &str, flag: bool| settings.find(&[key]).is_some_and(|value| *value == flag);
    if !is("new_decoder_architecture", true) && is("multi_query", true) {
        return Some(1.into());
    }
    let stated = settings.find(&["num_kv_heads", "n_head_kv"]).cloned();
    stated.or_else(|| match is("new_decoder_architecture", true) || is("multi_query", false) {
        true => settings.find(HEADS).cloned(),
        false => Some(1.into()),
    })
}

/// Refuses models that llama.cpp would compute otherwise: slopes in place of rotary positions, and
/// layers that are not parallel.
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    let is = |key: &str, flag: bool| settings.find(&[key]).is_some_and(|value| *value == flag);
    if is("alibi", true) {
        return Err(not_yet("Falcon models with `alibi`"));
    }
    if is("parallel_attn", false) && !is("new_decoder_architecture", true) {
        return Err(not_yet("Falcon models without `parallel_attn`"));
    }
    Ok(())
}

const KEY_HEADS: &str = "attention.head_count_kv";

/// Whether some query heads share a key head, and others another one, as only newer layers have it.
fn is_grouped(told: &Told<'_>) -> Option<bool> {
    let [keys, all] = [KEY_HEADS, "attention.head_count"].map(|key| told.own(key)?.as_u64());
    Some(keys? != 1 && keys != all)
}
