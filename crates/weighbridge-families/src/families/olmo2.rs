//! OLMo 2.

use super::family::*;

pub(super) const OLMO2: Family = Family {
    architecture: "olmo2",
    classes: &["Olmo2ForCausalLM"],
    types: &["olmo2"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, NORMS_AFTER],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [50304, 4096, 11008, 32, 32, 2048],
        epsilon: ("rms_norm_eps", 1e-5),
        ..DEFAULTS
    }),
    back: Some(Back {
        // With windows it is Olmo 3.
        is: |told| told.own("attention.sliding_window").is_none(),
        flags: ATTENTION_BIAS,
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[SILU, NO_ATTENTION_BIAS, NEEDS_HEAD, HEADS_SHARE];

const KEYS: &[KeyRow] = &[
    ("attention.sliding_window", Count, Made(window_if_any)),
    ("attention.sliding_window_pattern", FlagList, Made(sliding_layers)),
];

/// Which layers have a sliding window, where there is one: all but every fourth, unless the config
/// lists them.
fn sliding_layers(settings: &Settings) -> Option<Json> {
    window_if_any(settings)?;
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let is_sliding = |kind: &Json| kind == "sliding_attention";
    Some(match settings.find(&["layer_types"]) {
        Some(Json::Array(kinds)) => kinds.iter().map(is_sliding).collect(),
        // No list, and so refused where it is to be one.
        Some(other) => other.clone(),
        None => (1..=layers).map(|layer| layer % 4 != 0).collect(),
    })
}

/// The window, if a layer has one.
fn window_if_any(settings: &Settings) -> Option<Json> {
    settings.find(&["sliding_window"]).filter(|_| !sees_everything(settings)).cloned()
}
