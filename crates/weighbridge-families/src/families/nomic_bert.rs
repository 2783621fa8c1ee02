//! Nomic's encoders.

use serde_json::json;

use super::bert::BERT;
use super::family::*;

pub(super) const NOMIC_BERT: Family = Family {
    architecture: "nomic-bert",
    classes: &["NomicBertModel"],
    types: &["nomic_bert"],
    // Those with experts have their matrices in other shapes.
    unlike: &["nomic-bert-moe"],
    rows: &[ROWS],
    fits: |config| !super::nomic_bert_moe::has_experts(config),
    keys: &[BASE, CONTEXT_KEYS, ENCODER],
    refuse: |settings, _| check_all(settings, "swiglu", false),
    rules: &[RULES],
    scalings: &[],
    defaults: None,
    tokenizer: Tokenizer::Encoder(EncoderTokens::WordPiecesOrUnigram),
    back: None,
    ..BERT
};

pub(super) const CONTEXT_KEYS: &[KeyRow] = &[("context_length", Count, Made(context))];

pub(super) const RULES: &[Rule] = &[
    differs(&["rotary_scaling_factor"], off, "does not stretch rotary positions for long texts"),
    differs(&["use_rms_norm"], off, "uses norms with a mean"),
    differs(&["parallel_block"], off, "runs attention before the feed-forward layers"),
    differs(&["scale_attn_by_inverse_layer_idx"], off, "scales all layers alike"),
    differs(&["scale_attn_weights"], on, "divides queries by the root of the width of a head"),
    // Other values of these are rejected.
    free(&[
        "activation_function",
        "causal",
        "mlp_fc1_bias",
        "mlp_fc2_bias",
        "moe_every_n_layers",
        "num_experts",
        "prenorm",
        "qkv_proj_bias",
        "rotary_emb_fraction",
        "rotary_emb_interleaved",
        "rotary_emb_scale_base",
    ]),
    // How the original code computes the same numbers, and what its other heads do.
    free(&[
        "dense_seq_output",
        "fused_bias_fc",
        "fused_dropout_add_ln",
        "last_layer_subset",
        "pad_vocab_size_multiple",
        "parallel_block_tied_norm",
        "reorder_and_upcast_attn",
        "rope_theta",
        "summary_activation",
        "summary_proj_to_labels",
        "summary_type",
        "summary_use_proj",
        "type_vocab_size",
        "use_xentropy",
    ]),
];

/// Positions are rotary.
const ROWS: &[Row] = &[
    ("embeddings.word_embeddings", &["token_embd"], Embedding),
    ("embeddings.token_type_embeddings", &["token_types"], Plain),
    ("emb_ln", &["token_embd_norm"], Norm),
    ("encoder.layers.#.attn.Wqkv", QKV, Qkv),
    ("encoder.layers.#.attn.out_proj", &["blk.#.attn_output"], Plain),
    ("encoder.layers.#.norm1", &["blk.#.attn_output_norm"], Norm),
    ("encoder.layers.#.mlp.fc11", &["blk.#.ffn_up"], Plain),
    ("encoder.layers.#.mlp.fc12", &["blk.#.ffn_gate"], Plain),
    ("encoder.layers.#.mlp.fc2", &["blk.#.ffn_down"], Plain),
    ("encoder.layers.#.norm2", &["blk.#.layer_output_norm"], Norm),
];

/// The length of texts that a model of Nomic's was trained with, which its table of positions exceeds.
/// What it should be for others is not known, and so refused.
fn context(settings: &Settings) -> Option<Json> {
    if let Some(stated) = settings.find(&["max_position_embeddings"]) {
        return Some(stated.clone());
    }
    let trained = settings.count("max_trained_positions").unwrap_or(2048);
    Some(match (settings.count("n_positions"), trained) {
        (Some(8192), 2048) => 2048.into(),
        (Some(2048), 2048) => 512.into(),
        (other, _) => format!("n_positions {other:?} with max_trained_positions {trained}").into(),
    })
}

/// Refuses models of Nomic's that readers would take for another one: they know no others of that name.
pub(super) fn check_all(settings: &Settings, activation: &str, has_biases: bool) -> Result<()> {
    let needed = [
        ("causal", json!(false)),
        ("qkv_proj_bias", json!(has_biases)),
        ("mlp_fc1_bias", json!(has_biases)),
        ("mlp_fc2_bias", json!(has_biases)),
        ("prenorm", json!(false)),
        ("rotary_emb_interleaved", json!(false)),
        ("rotary_emb_scale_base", Json::Null),
        ("rotary_emb_fraction", json!(1.0)),
        ("activation_function", json!(activation)),
    ];
    for (key, wanted) in &needed {
        let value = settings.find(&[*key]).unwrap_or(&Json::Null);
        let is_none = wanted.is_null() && (value == 0 || value == false);
        let is_number = wanted.is_number() && value.as_f64() == wanted.as_f64();
        if value != wanted && !is_none && !is_number {
            let value = crate::text::escaped(&value.to_string()).into_owned();
            let what = format!("nomic_bert models with `{key}` {value}");
            return Err(Error::unsupported(format!("{what} cannot be converted to GGUF")));
        }
    }
    Ok(())
}
