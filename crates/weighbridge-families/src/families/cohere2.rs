//! Command R7B and A. Hugging Face has their heads in pairs, as GGUF does.

use super::family::*;

pub(super) const COHERE2: Family = Family {
    architecture: "cohere2",
    classes: &["Cohere2ForCausalLM"],
    types: &["cohere2"],
    rows: &[TRUNK, ATTENTION, MLP, ONE_NORM],
    tied: true,
    keys: &[BASE, KEYS],
    defaults: Some(Defaults {
        sizes: [256000, 8192, 22528, 40, 64, 8192],
        head: Head::AlwaysShare,
        epsilon: ("layer_norm_eps", 1e-5),
        more: &[("logit_scale", 0.0625), ("sliding_window", 4096.0)],
        ..DEFAULTS
    }),
    // Every fourth layer sees everything, for llama.cpp and for the class.
    back: Some(Back {
        rotated: Some("rotary_pct"),
        flags: ATTENTION_BIAS,
        untold: &[("layer_types", "full_attention in every 4th layer, sliding_attention in the others")],
        ..BACK
    }),
    ..DECODER
};

const KEYS: &[KeyRow] = &[
    LOGIT_SCALE,
    WINDOW,
    VOCABULARY,
    ("rope.dimension_count", Count, MadeOf("rotary_pct", rotated_share)),
    NO_SCALING,
];

/// How much of a head is rotated, by what the heads make of the hidden size.
fn rotated_share(settings: &Settings) -> Option<Json> {
    part(settings.find(&["rotary_pct"])?, settings.head_share()?).map(Json::from)
}
