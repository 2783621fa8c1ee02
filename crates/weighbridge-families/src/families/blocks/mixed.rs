//! Layers of attention among state spaces, as Granite 4 and its relatives have them.

use serde_json::Value as Json;

use super::keys::Get::{Any, Made, Needed};
use super::keys::Type::{Count, Counts, Flag};
use super::keys::{KeyRow, MOST_LAYERS};
use super::rows::How::{Own, Plain};
use super::rows::{How, Laid, Lay, Row};
use super::rules::{Rule, SILU, fails, free, is_number};
use super::state_space::{COLUMN, RATE_COLUMN, SQUEEZED, grouped};
use crate::error::{Error, Result};
use crate::families::about::About;
use crate::families::settings::{Settings, whole};

/// State spaces whose heads have one decay rate each, beside attention.
pub(crate) const MIXED_STATE_HEADS: &[Row] = &[
    ("layers.#.mamba.in_proj", &["blk.#.ssm_in"], Plain),
    ("layers.#.mamba.conv1d", &["blk.#.ssm_conv1d"], SQUEEZED),
    ("layers.#.mamba.dt_bias", &["blk.#.ssm_dt.bias"], Plain),
    ("layers.#.mamba.A_log", &["blk.#.ssm_a"], RATE_COLUMN),
    ("layers.#.mamba.D", &["blk.#.ssm_d"], COLUMN),
    ("layers.#.mamba.norm", &["blk.#.ssm_norm"], STATE_NORM),
    ("layers.#.mamba.out_proj", &["blk.#.ssm_out"], Plain),
];

pub(crate) const MIXED_KEYS: &[KeyRow] = &[
    (
        "ssm.conv_kernel",
        Count,
        Needed(&["conv_kernel", "d_conv", "mamba_conv_kernel", "mamba_d_conv"]),
    ),
    ("ssm.state_size", Count, Needed(STATE)),
    ("ssm.group_count", Count, Needed(GROUPS)),
    ("ssm.inner_size", Count, Made(|settings| inner(settings).map(Json::from))),
    ("ssm.time_step_rank", Count, Needed(HEADS)),
    ("rope.dimension_count", Count, Any(&["attn_rotary_emb"])),
    ("attention.head_count_kv", Counts, Made(key_heads)),
];

pub(crate) const WITH_ROPE: KeyRow = ("rope.scaling.finetuned", Flag, Made(|_| Some(true.into())));

#[rustfmt::skip]
const STATE: &[&str] = &[
    "state_size", "d_state", "state_dim", "ssm_state_size", "mamba_state_size", "mamba_d_state",
    "mamba_state_dim",
];
const GROUPS: &[&str] = &["n_groups", "num_groups", "mamba_n_groups", "mamba_num_groups"];
const HEADS: &[&str] = &["n_heads", "num_heads", "mamba_n_heads", "mamba_num_heads"];

pub(crate) const MIXED_RULES: &[Rule] = &[
    SILU,
    fails(
        &["mamba_expand"],
        |case, expand| is_number(expand, 2.0) || !case.has(".ssm_in.weight"),
        "state spaces of this family are twice as wide as the hidden size",
    ),
    fails(
        &["mamba_conv_bias"],
        |case, _| case.has(".ssm_conv1d.bias") || !case.has(".ssm_conv1d.weight"),
        "its convolutions have a bias",
    ),
    fails(
        &["mamba_proj_bias"],
        |case, _| !case.has(".ssm_in.bias"),
        "its projections of state spaces have no bias",
    ),
    free(&["attention_bias", "layer_types", "attn_layer_indices", "attn_layer_period"]),
    free(&["attn_layer_offset", "mamba_d_head", "mamba_chunk_size", "use_mamba_kernels"]),
    free(&["layers_block_type"]),
];

/// The norm behind state spaces, one row a group.
pub(crate) const STATE_NORM: How = Own(Lay(norm));

fn norm(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    grouped(settings.find(GROUPS).and_then(whole)?, shape)
}

/// The width of all heads, where a config states that of one; else that of the model, expanded.
fn inner(settings: &Settings) -> Option<u64> {
    if let Some(width) = settings.count("mamba_head_dim") {
        return settings.count("mamba_num_heads")?.checked_mul(width);
    }
    let expand = settings.find(&["expand", "mamba_expand"]).and_then(whole)?;
    settings.find(&["hidden_size", "d_model"]).and_then(whole)?.checked_mul(expand)
}

/// Key heads of each layer: none in state spaces. No list where the config does not tell them.
fn key_heads(settings: &Settings) -> Option<Json> {
    let heads = settings.find(&["num_key_value_heads", "n_head_kv"]).and_then(whole)?;
    let layers = mixed_layers(settings)?;
    Some(layers.into_iter().map(|attends| if attends { heads } else { 0 }).collect())
}

/// Which layers attend: those that a config lists by their kinds or numbers, or every so many.
pub(crate) fn mixed_layers(settings: &Settings) -> Option<Vec<bool>> {
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let list = |key: &str| {
        let found = settings.find(&[key]).and_then(Json::as_array);
        found.filter(|list| !list.is_empty())
    };
    if let Some(kinds) = list("layer_types").or_else(|| list("layers_block_type")) {
        return (kinds.len() as u64 == layers).then(|| kinds.iter().map(attends).collect())?;
    }
    if let Some(numbers) = list("attn_layer_indices") {
        let numbers: Vec<u64> = numbers.iter().map(whole).collect::<Option<_>>()?;
        return Some((0..layers).map(|layer| numbers.contains(&layer)).collect());
    }
    let period = settings.count("attn_layer_period").filter(|period| *period > 0)?;
    let offset = settings.count("attn_layer_offset")?;
    Some((0..layers).map(|layer| layer % period == offset).collect())
}

/// Whether a layer of a kind attends; none for another kind.
fn attends(kind: &Json) -> Option<bool> {
    match kind.as_str()? {
        "attention" | "full_attention" => Some(true),
        "mamba" | "linear_attention" => Some(false),
        _ => None,
    }
}

/// Refuses configs that do not tell layers apart, and sizes that contradict each other.
pub(crate) fn check_mixed(settings: &Settings, _: &About<'_>) -> Result<()> {
    let Some(layers) = mixed_layers(settings) else {
        return Err(Error::malformed("config.json does not tell which layers attend")
            .hint("state `layer_types`, with `mamba` or `attention` for each layer"));
    };
    let width = settings.find(&["d_head", "mamba_d_head"]).and_then(whole);
    let heads = settings.find(HEADS).and_then(whole);
    let fits =
        width.zip(heads).is_none_or(|(width, heads)| width.checked_mul(heads) == inner(settings));
    if fits || !layers.contains(&false) {
        return Ok(());
    }
    Err(Error::malformed(
        "config.json: the heads of state spaces are not as wide together as `mamba_expand` says",
    ))
}
