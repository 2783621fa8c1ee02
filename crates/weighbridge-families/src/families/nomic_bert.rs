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
    keys: &[BASE, &[("context_length", Count, Made(context))], ENCODER],
    refuse: check,
    rules: &[RULES],
    scalings: &[],
    defaults: None,
    tokenizer: Tokenizer::WordPiecesOrUnigram,
    ..BERT
};

const RULES: &[Rule] = &[free(&["*"])];

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
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    let needed = [
        ("causal", json!(false)),
        ("qkv_proj_bias", json!(false)),
        ("mlp_fc1_bias", json!(false)),
        ("mlp_fc2_bias", json!(false)),
        ("prenorm", json!(false)),
        ("rotary_emb_interleaved", json!(false)),
        ("rotary_emb_scale_base", Json::Null),
        ("moe_every_n_layers", Json::Null),
        ("num_experts", Json::Null),
        ("rotary_emb_fraction", json!(1.0)),
        ("activation_function", json!("swiglu")),
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
