//! State spaces, as Mamba has them: their rows, and the shapes that GGUF has their weights in.

use serde_json::Value as Json;

use super::rows::How::{Embedding, Norm, Own, Plain};
use super::rows::{Laid, Lay, Row};
use super::rules::{Rule, SILU, differs, fails, free, on};
use crate::change::Change;
use crate::families::settings::{Settings, whole};
use crate::view::View;

/// The first Mamba: a decay rate for each number of the state.
pub(crate) const STATE_SPACE: &[Row] = &[
    ("layers.#.norm", &["blk.#.attn_norm"], Norm),
    ("layers.#.mixer.in_proj", &["blk.#.ssm_in"], Plain),
    ("layers.#.mixer.conv1d", &["blk.#.ssm_conv1d"], SQUEEZED),
    ("layers.#.mixer.x_proj", &["blk.#.ssm_x"], Plain),
    ("layers.#.mixer.dt_proj", &["blk.#.ssm_dt"], Plain),
    ("layers.#.mixer.A_log", &["blk.#.ssm_a"], RATES),
    ("layers.#.mixer.D", &["blk.#.ssm_d"], Plain),
    ("layers.#.mixer.out_proj", &["blk.#.ssm_out"], Plain),
];

/// A convolution over one channel each: the dimension of one is left out.
pub(crate) const SQUEEZED: super::How = Own(Lay(squeezed));
/// Decay rates, stored as logarithms; GGUF has the negated rates.
pub(crate) const RATES: super::How = Own(Lay(rates));
/// The same as a column: a rate a head.
pub(crate) const RATE_COLUMN: super::How = Own(Lay(rate_column));
/// A number a head, as a column.
pub(crate) const COLUMN: super::How = Own(Lay(column));

fn squeezed(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    match *shape {
        [length] => Some(Laid::whole(View::whole(&[length]), "")),
        [channels, 1, kernel] => Some(Laid::whole(View::whole(&[channels, kernel]), "squeeze")),
        _ => None,
    }
}

fn rates(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let stated = stated(settings, &["state_size", "d_state", "mamba_d_state"]);
    let &[_, state] = shape else { return None };
    stated.is_none_or(|stated| stated == state).then_some(())?;
    Some(Laid::whole(View { change: Change::MinusExp, ..View::whole(shape) }, "-exp"))
}

fn rate_column(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let view = View { change: Change::MinusExp, ..by_head(settings, shape)? };
    Some(Laid::whole(view, "-exp, column"))
}

fn column(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    Some(Laid::whole(by_head(settings, shape)?, "column"))
}

fn by_head(settings: &Settings, shape: &[u64]) -> Option<View> {
    let stated = stated(settings, &["num_heads", "mamba_num_heads", "mamba_n_heads"]);
    let &[heads] = shape else { return None };
    stated.is_none_or(|stated| stated == heads).then(|| View::whole(&[heads, 1]))
}

/// A count that a config states, so that the shapes of weights have to agree with it.
fn stated(settings: &Settings, keys: &[&str]) -> Option<u64> {
    settings.find(keys).and_then(whole)
}

/// A vector, one row a group.
pub(crate) fn grouped(groups: u64, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[length] = shape else { return None };
    let each = length.checked_div(groups).filter(|each| *each > 0 && each * groups == length)?;
    Some(Laid::whole(View::whole(&[groups, each]), format!("groups={groups}")))
}

/// A number that is not zero, or else this one.
pub(crate) fn either(settings: &Settings, keys: &[&str], otherwise: u64) -> Option<Json> {
    let found = settings.find(keys).filter(|value| value.as_f64() != Some(0.0));
    Some(found.cloned().unwrap_or_else(|| otherwise.into()))
}

/// The same, as a count.
pub(crate) fn count_of(settings: &Settings, keys: &[&str], otherwise: u64) -> Option<u64> {
    either(settings, keys, otherwise).as_ref().and_then(whole)
}

/// The context of models that have no limit: what the converter writes for all of them.
pub(crate) fn endless(_: &Settings) -> Option<Json> {
    Some((1_u64 << 20).into())
}

/// A key that llama.cpp needs and does not use.
pub(crate) fn unused(_: &Settings) -> Option<Json> {
    Some(0.into())
}

/// What Mamba calls the embedding and what comes behind the layers; the original has one of its own.
pub(crate) const SPACE_TRUNK: &[Row] = &[
    ("embeddings", &["token_embd"], Embedding),
    ("embedding", &["token_embd"], Embedding),
    ("norm_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
];

pub(crate) const SPACE_WIDTH: &[&str] = &["hidden_size", "d_model"];

/// The epsilon of all norms.
pub(crate) fn space_epsilon(settings: &Settings) -> Option<Json> {
    let found = settings.find(&["layer_norm_epsilon", "rms_norm_eps"]);
    Some(found.filter(|value| value.as_f64() != Some(0.0)).cloned().unwrap_or_else(|| 1e-5.into()))
}

/// Of models of nothing but state spaces.
pub(crate) const SPACE_RULES: &[Rule] = &[
    SILU,
    fails(&["use_bias"], |case, _| !case.has(".ssm_in.bias"), "its projections have no bias"),
    differs(&["rms_norm"], on, "norms by the root of the mean square"),
    fails(
        &["ssm_cfg"],
        |_, sizes| sizes.as_object().is_none_or(serde_json::Map::is_empty),
        "a file states sizes of state spaces that are not under this key",
    ),
    free(&["expand", "head_dim", "num_heads", "tie_embeddings", "fused_add_norm"]),
    // Of the training, and of how a program computes.
    free(&[
        "chunk_size",
        "pad_vocab_size_multiple",
        "residual_in_fp32",
        "rescale_prenorm_residual",
        "time_step_floor",
        "time_step_init_scheme",
        "time_step_max",
        "time_step_min",
        "time_step_scale",
    ]),
];

/// The second Mamba: a decay rate for each head.
pub(crate) const STATE_HEADS: &[Row] = &[
    ("layers.#.mixer.in_proj", &["blk.#.ssm_in"], Plain),
    ("layers.#.mixer.conv1d", &["blk.#.ssm_conv1d"], SQUEEZED),
    ("layers.#.mixer.dt_bias", &["blk.#.ssm_dt.bias"], Plain),
    ("layers.#.mixer.A_log", &["blk.#.ssm_a"], RATE_COLUMN),
    ("layers.#.mixer.D", &["blk.#.ssm_d"], COLUMN),
    ("layers.#.mixer.out_proj", &["blk.#.ssm_out"], Plain),
];

/// What llama.cpp takes for granted of it.
pub(crate) const STATE_HEAD_RULES: &[Rule] = &[differs(
    &["time_step_limit"],
    |_, limit| {
        let [low, high] = [&limit[0], &limit[1]];
        // Infinity is null here.
        limit.is_null()
            || (low.as_f64() == Some(0.0) && high.as_f64().is_none_or(|high| high > 1e30))
    },
    "does not limit time steps",
)];
