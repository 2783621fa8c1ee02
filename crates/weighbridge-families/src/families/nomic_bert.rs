//! Nomic's encoders.

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
    defaults: None,
    tokenizer: Tokenizer::WordPiecesOrUnigram,
    ..BERT
};

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
        (other, _) => format!("n_positions {other:?} after training with {trained}").into(),
    })
}

/// What has to be so in a config of Nomic's: readers know no other models of that name.
const NEEDED: [(&str, Json); 9] = [
    ("causal", Json::Bool(false)),
    ("qkv_proj_bias", Json::Bool(false)),
    ("mlp_fc1_bias", Json::Bool(false)),
    ("mlp_fc2_bias", Json::Bool(false)),
    ("prenorm", Json::Bool(false)),
    ("rotary_emb_interleaved", Json::Bool(false)),
    ("rotary_emb_scale_base", Json::Null),
    ("moe_every_n_layers", Json::Null),
    ("num_experts", Json::Null),
];

/// Refuses models of Nomic's that readers would take for another one.
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    let refused = |key: &str, value: &Json| {
        let shown = crate::text::escaped(&value.to_string()).into_owned();
        let message = format!("a nomic_bert model with `{key}` {shown} is not converted into GGUF");
        Err(Error::unsupported(message))
    };
    for (key, wanted) in &NEEDED {
        let value = settings.find(&[*key]).unwrap_or(&Json::Null);
        let is_none = wanted.is_null() && (value == 0 || value == false);
        if value != wanted && !is_none {
            return refused(key, value);
        }
    }
    let value = |key: &str| settings.find(&[key]).cloned().unwrap_or_default();
    if value("rotary_emb_fraction").as_f64() != Some(1.0) {
        return refused("rotary_emb_fraction", &value("rotary_emb_fraction"));
    }
    match value("activation_function") {
        activation if activation == "swiglu" => Ok(()),
        other => refused("activation_function", &other),
    }
}
