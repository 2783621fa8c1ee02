//! Values that a config does not state, but that follow from several of its values.

use serde_json::Value as Json;

use super::settings::Settings;

/// The kind of scaling of rotary positions that GGUF has a name for.
pub(super) fn scaling(settings: &Settings) -> Option<String> {
    let has_factor = settings.rope(&["factor"]).is_some();
    match settings.rope(&["rope_type"])?.as_str()? {
        kind @ ("linear" | "yarn") => has_factor.then(|| kind.to_owned()),
        "su" | "longrope" => Some("longrope".to_owned()),
        _ => None,
    }
}

/// The same as a value.
pub(super) fn scaling_type(settings: &Settings) -> Option<Json> {
    scaling(settings).map(Json::from)
}

/// By how much positions are scaled.
pub(super) fn scaling_factor(settings: &Settings) -> Option<Json> {
    let kind = scaling(settings).filter(|kind| kind != "longrope");
    kind.and_then(|_| settings.rope(&["factor"]).cloned())
}

/// What files of some families say whatever the config says.
pub(super) fn no_scaling(_: &Settings) -> Option<Json> {
    Some("none".into())
}

/// False where attention looks ahead.
pub(super) fn not_causal(settings: &Settings) -> Option<Json> {
    settings.find(&["is_causal"]).filter(|causal| causal.as_bool() == Some(false)).cloned()
}

/// The base of rotary frequencies in layers with a sliding window.
pub(super) fn local_theta(settings: &Settings) -> Option<Json> {
    settings.local_theta().cloned()
}

/// The number of the function that chooses experts.
pub(super) fn gating(settings: &Settings) -> Option<Json> {
    let keys = ["score_function", "scoring_func", "score_func", "moe_router_activation"];
    let more = ["moe_router_activation_func", "expert_selection_fn"];
    let name = settings.find(&[&keys[..], &more[..]].concat())?;
    let number = match name.as_str() {
        Some("softmax") => 1.into(),
        Some("sigmoid") => 2.into(),
        Some("sqrtsoftplus") => 4.into(),
        // No number, and so refused where it is to be one.
        _ => name.clone(),
    };
    Some(number)
}

/// The width of a head.
pub(super) fn head_width(settings: &Settings) -> Option<Json> {
    settings.head_width().map(Json::from)
}

/// A part of a width, rounded down.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Rounded down, as Python does.
fn part(factor: &Json, of: u64) -> Option<u64> {
    factor.as_f64().map(|factor| (factor * of as f64) as u64)
}

/// How much of a head is rotated, by the width that the config says.
pub(super) fn rotated_width(settings: &Settings) -> Option<Json> {
    let factor = settings.rope(&["partial_rotary_factor"]).cloned().unwrap_or(0.5.into());
    part(&factor, settings.head_width()?).map(Json::from)
}

/// How much of a head is rotated, by what the heads make of the hidden size.
pub(super) fn rotated_share(settings: &Settings) -> Option<Json> {
    part(settings.find(&["rotary_pct"])?, settings.head_share()?).map(Json::from)
}

/// How much of a head is rotated, by the hidden size.
pub(super) fn rotated_hidden(settings: &Settings) -> Option<Json> {
    let factor = settings.rope(&["partial_rotary_factor"]).cloned().unwrap_or(1.0.into());
    let rotated = part(&factor, settings.count("hidden_size")?)?;
    rotated.checked_div(settings.count("num_attention_heads")?).map(Json::from)
}

/// What attention is multiplied by in contexts longer than those of the training.
pub(super) fn attention_factor(settings: &Settings) -> Option<Json> {
    settings.rope(&["long_factor"])?;
    let original = settings.rope(&["original_max_position_embeddings"])?.as_f64()?;
    let scale = settings.count("max_position_embeddings")? as f64 / original;
    let factor = match scale > 1.0 {
        true => (1.0 + scale.ln() / original.ln()).sqrt(),
        false => 1.0,
    };
    Some(factor.into())
}

/// Zero tells Phi-4 from its forebears.
pub(super) fn window_or_none(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["sliding_window"]).cloned().unwrap_or(0.into()))
}

/// The window, unless every layer sees everything.
pub(super) fn window_unless_everywhere(settings: &Settings) -> Option<Json> {
    let everywhere = settings.count("sliding_window_pattern") == Some(1);
    settings.find(&["sliding_window"]).filter(|_| !everywhere).cloned()
}

/// A number, unless it is zero.
pub(super) fn nonzero(settings: &Settings, key: &str) -> Option<Json> {
    settings.find(&[key]).filter(|value| value.as_f64() != Some(0.0)).cloned()
}
