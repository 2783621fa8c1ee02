//! Short convolutions among attention, as LFM2 has them.

use serde_json::Value as Json;

use super::keys::Get::{Made, Needed};
use super::keys::Type::{Count, Counts};
use super::keys::{KeyRow, MOST_LAYERS, VOCABULARY, listed_layers};
use super::rows::How::{Embedding, Norm, Plain};
use super::rows::Row;
use super::rules::{Rule, fails, free};
use super::state_space::SQUEEZED;
use crate::error::{Error, Result};
use crate::families::about::About;
use crate::families::settings::Settings;

/// The norm behind the layers has a name of the one behind the embedding.
pub(crate) const SHORT_TRUNK: &[Row] =
    &[("embed_tokens", &["token_embd"], Embedding), ("embedding_norm", &["token_embd_norm"], Norm)];

pub(crate) const SHORT_MIXERS: &[Row] = &[
    ("layers.#.operator_norm", &["blk.#.attn_norm"], Norm),
    ("layers.#.ffn_norm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.conv.conv", &["blk.#.shortconv.conv"], SQUEEZED),
    ("layers.#.conv.in_proj", &["blk.#.shortconv.in_proj"], Plain),
    ("layers.#.conv.out_proj", &["blk.#.shortconv.out_proj"], Plain),
    ("layers.#.self_attn.q_proj", &["blk.#.attn_q"], Plain),
    ("layers.#.self_attn.k_proj", &["blk.#.attn_k"], Plain),
    ("layers.#.self_attn.v_proj", &["blk.#.attn_v"], Plain),
    ("layers.#.self_attn.out_proj", &["blk.#.attn_output"], Plain),
    ("layers.#.self_attn.q_layernorm", &["blk.#.attn_q_norm"], Norm),
    ("layers.#.self_attn.k_layernorm", &["blk.#.attn_k_norm"], Norm),
];

pub(crate) const SHORT_KEYS: &[KeyRow] = &[
    ("attention.head_count_kv", Counts, Made(key_heads)),
    VOCABULARY,
    ("shortconv.l_cache", Count, Needed(&["conv_L_cache"])),
];

pub(crate) const SHORT_RULES: &[Rule] = &[
    fails(
        &["conv_bias"],
        |case, _| !case.has(".shortconv.in_proj.bias") && !case.has(".shortconv.conv.bias"),
        "its convolutions have no bias",
    ),
    free(&["layer_types", "full_attn_idxs", "theta", "use_pos_enc"]),
];

/// Key heads of each layer: none in convolutions.
fn key_heads(settings: &Settings) -> Option<Json> {
    let heads = settings.find(&["num_key_value_heads"])?;
    let layers = attending(settings)?.into_iter();
    Some(layers.map(|attends| if attends { heads.clone() } else { 0.into() }).collect())
}

/// Which layers attend: by their kinds, or by their numbers, or all of them.
fn attending(settings: &Settings) -> Option<Vec<bool>> {
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    if let Some(kinds) = listed_layers(settings) {
        let attends = |kind: &Json| match kind.as_str() {
            Some("full_attention") => Some(true),
            Some("conv") => Some(false),
            _ => None,
        };
        return (kinds.len() as u64 == layers).then(|| kinds.iter().map(attends).collect())?;
    }
    let numbers = settings.find(&["full_attn_idxs"]).and_then(Json::as_array);
    Some((0..layers).map(|layer| numbers.is_none_or(|all| all.contains(&layer.into()))).collect())
}

/// Refuses configs that do not tell layers apart.
pub(crate) fn tells_layers(settings: &Settings, _: &About<'_>) -> Result<()> {
    match attending(settings) {
        Some(_) => Ok(()),
        None => Err(Error::malformed("config.json does not tell which layers attend")
            .hint("state `layer_types`, with `conv` or `full_attention` for each layer")),
    }
}
