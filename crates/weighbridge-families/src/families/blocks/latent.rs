//! Latent attention, whose keys and values are made from a shorter vector: what files say of it, and what
//! configs say where only files are at hand.

use serde_json::Value as Json;

use super::back::Config;
use crate::catalog::Value;
use crate::families::settings::Settings;
use crate::families::told::{Told, single};

/// The length of the vector that keys and values are made from.
pub(crate) fn latent(settings: &Settings) -> u64 {
    settings.count("kv_lora_rank").unwrap_or(512)
}

/// The length of that vector plus the rotated part.
pub(crate) fn latent_key_length(settings: &Settings) -> Option<Json> {
    latent(settings).checked_add(settings.count("qk_rope_head_dim")?).map(Json::from)
}

/// The length of the keys that are made from it.
pub(crate) fn made_key_length(settings: &Settings) -> Option<Json> {
    let rotated = settings.count("qk_rope_head_dim")?;
    settings.count("qk_nope_head_dim")?.checked_add(rotated).map(Json::from)
}

/// How attention grows with the context. A tenth of what the config says, for reasons of history.
pub(crate) fn yarn_multiplier(settings: &Settings) -> Option<Json> {
    let all = settings.rope(&["mscale_all_dim"])?;
    Some(all.as_f64().map_or_else(|| all.clone(), |all| (0.1 * all).into()))
}

/// None, where queries are not made from a shorter vector.
pub(crate) fn latent_queries(told: &Told<'_>, config: &Config) -> Option<Json> {
    let has_none = told.own("attention.q_lora_rank").is_none();
    (has_none && !config.contains_key("q_lora_rank")).then_some(Json::Null)
}

/// How much of a key is not rotated.
pub(crate) fn keys_not_rotated(told: &Told<'_>, config: &Config) -> Option<Json> {
    let all = told.own("attention.key_length_mla")?.as_u64()?;
    all.checked_sub(config.get("qk_rope_head_dim")?.as_u64()?).map(Json::from)
}

pub(crate) fn weights_are_normalized(told: &Told<'_>, _: &Config) -> Option<Json> {
    Some((told.own("expert_weights_norm") == Some(Value::Bool(true))).into())
}

/// By how much attention grows with the context. Files have a tenth of it, and configs have it
/// twice.
pub(crate) fn with_scale_of_attention(told: &Told<'_>, config: &Config) -> Option<Json> {
    let mut scaling = config.get("rope_scaling")?.clone();
    if let Some(Value::F32(tenth)) = told.own("rope.scaling.yarn_log_multiplier") {
        for key in ["mscale", "mscale_all_dim"] {
            scaling[key] = single(tenth * 10.0)?;
        }
    }
    Some(scaling)
}
