//! What several families of Granite have.

use serde_json::Value as Json;

use super::experts::GATE_UP_EXPERTS;
use super::keys::Get::{Made, Needed};
use super::keys::Type::{Count, FlagList, Number};
use super::keys::{KeyRow, MOST_LAYERS, listed_layers, nonzero};
use super::rows::How::{Experts, Own, Plain, Stacked};
use super::rows::{Laid, Lay, Place, Row};
use super::rules::{HEADS_SHARE, Rule, SILU, differs, free};
use crate::error::{Error, Result};
use crate::families::about::About;
use crate::families::settings::Settings;
use crate::view::View;

/// Experts, with gate and up in one stack.
pub(crate) const GRANITE_EXPERTS: &[Row] = &[
    ("layers.#.block_sparse_moe.router.layer", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.block_sparse_moe.input_linear", GATE_UP_EXPERTS, Stacked),
    ("layers.#.block_sparse_moe.output_linear", &["blk.#.ffn_down_exps"], Experts),
];

/// What sees every token: beside experts, or in their place.
pub(crate) const GRANITE_SHARED: &[Row] = &[
    ("layers.#.shared_mlp.input_linear", GATE_UP, Own(Lay(gate_up))),
    ("layers.#.shared_mlp.output_linear", DOWN, Own(Lay(down))),
];

const GATE_UP: &[&str] =
    &["blk.#.ffn_gate_shexp", "blk.#.ffn_up_shexp", "blk.#.ffn_gate", "blk.#.ffn_up"];
const DOWN: &[&str] = &["blk.#.ffn_down_shexp", "blk.#.ffn_down"];

/// How a model of Granite scales what it computes.
pub(crate) const GRANITE_SCALES: &[KeyRow] = &[
    ("attention.scale", Number, Made(|settings| nonzero(settings, "attention_multiplier"))),
    ("embedding_scale", Number, Made(|settings| nonzero(settings, "embedding_multiplier"))),
    ("residual_scale", Number, Made(|settings| nonzero(settings, "residual_multiplier"))),
    ("logit_scale", Number, Made(|settings| nonzero(settings, "logits_scaling"))),
];

/// The inner size of what sees every token.
pub(crate) const SHARED_LENGTH: &[KeyRow] =
    &[("expert_shared_feed_forward_length", Count, Made(shared_length))];

fn shared_length(settings: &Settings) -> Option<Json> {
    nonzero(settings, "shared_intermediate_size")
}

fn has_experts(settings: &Settings) -> bool {
    settings.count("num_local_experts").is_some_and(|experts| experts > 0)
}

fn gate_up(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[rows, columns] = shape else { return None };
    let each = settings.count("shared_intermediate_size")?;
    (each > 0 && each.checked_mul(2) == Some(rows)).then_some(())?;
    let first = if has_experts(settings) { 0 } else { 2 };
    let part = |at: u64| Laid {
        tensor: first + usize::from(at > 0),
        place: Place::Whole,
        view: View::part(&[each, columns], at * each),
        words: format!("rows {}..{} of {rows}", at * each, (at + 1) * each),
    };
    Some(vec![part(0), part(1)])
}

fn down(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let tensor = usize::from(!has_experts(settings));
    let whole = Laid::whole(View::whole(shape), "");
    Some(whole.into_iter().map(|laid| Laid { tensor, ..laid }).collect())
}

/// A number a head that attention may spend on nothing.
pub(crate) const GRANITE_SINKS: &[Row] =
    &[("layers.#.self_attn.sinks", &["blk.#.attn_sinks"], Plain)];

/// Layers with a window, and those whose positions are rotated.
pub(crate) const GRANITE_WINDOWS: &[KeyRow] = &[
    ("attention.sliding_window", Count, Needed(&["sliding_window"])),
    (
        "attention.sliding_window_pattern",
        FlagList,
        Made(|settings| granite_windows(settings).map(Json::from)),
    ),
    ("attention.rope_pattern", FlagList, Made(rotated_layers)),
];

pub(crate) const GRANITE_WINDOW_RULES: &[Rule] = &[
    SILU,
    HEADS_SHARE,
    differs(
        &["layer_rope_theta"],
        |case, bases| {
            let own = case.settings.rope(&["rope_theta"]).and_then(Json::as_f64).unwrap_or(10000.0);
            let is_own = |base: &Json| base.as_f64() == Some(own);
            bases.as_array().is_none_or(|bases| bases.iter().all(is_own))
        },
        "takes one base of rotary positions for all layers",
    ),
    free(&["attention_bias", "layer_types"]),
];

/// Which layers have a window: those that a config lists, or three of four.
fn granite_windows(settings: &Settings) -> Option<Vec<bool>> {
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    match listed_layers(settings).filter(|kinds| !kinds.is_empty()) {
        Some(kinds) => (kinds.len() as u64 == layers)
            .then(|| kinds.iter().map(|kind| kind == "sliding_attention").collect()),
        None => Some((0..layers).map(|layer| layer % 4 != 0).collect()),
    }
}

fn rotated_layers(settings: &Settings) -> Option<Json> {
    let layers = settings.find(&["no_rope_layers"])?.as_array().filter(|all| !all.is_empty())?;
    Some(layers.iter().map(|rotates| rotates.as_f64() != Some(0.0) && *rotates != false).collect())
}

/// Refuses lists that do not fit the layers.
pub(crate) fn tells_windows(settings: &Settings, _: &About<'_>) -> Result<()> {
    match granite_windows(settings) {
        Some(_) => Ok(()),
        None => {
            Err(Error::malformed("config.json: `layer_types` does not name a kind for each layer"))
        }
    }
}
