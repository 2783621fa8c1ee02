//! Command R7B and A. Hugging Face has their heads in pairs, as GGUF does.

use super::family::*;

pub(super) const COHERE2: Family = Family {
    architecture: "cohere2",
    classes: &["Cohere2ForCausalLM"],
    types: &["cohere2"],
    rows: &[TRUNK, ATTENTION, MLP, ONE_NORM],
    tied: true,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [256000, 8192, 22528, 40, 64, 8192],
        head: Head::Share,
        epsilon: ("layer_norm_eps", 1e-5),
        more: &[("logit_scale", 0.0625), ("sliding_window", 4096.0)],
        ..DEFAULTS
    }),
    // Every fourth layer sees everything, for llama.cpp and for the class.
    back: Some(Back {
        rotated: Some("rotary_pct"),
        flags: ATTENTION_BIAS,
        fixed: &[("layer_types", layers_with_windows)],
        untold: &[(
            "layer_types",
            "full_attention in every 4th layer, sliding_attention in the others",
        )],
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    HEADS_SHARE,
    NO_HEAD,
    free(&["rotary_pct"]),
    differs(
        &["layer_types"],
        |case, _| !sees_everything(case.settings),
        "has windows and rotary positions in some layers",
    ),
];

const KEYS: &[KeyRow] = &[
    LOGIT_SCALE,
    WINDOW,
    ("attention.sliding_window_pattern", FlagList, Made(unusual_windows::<4>)),
    VOCABULARY,
    // All of a head is rotated, whatever `rotary_pct` says.
    ("rope.dimension_count", Count, Made(|settings| settings.head_share().map(Json::from))),
    SCALING_OR_NONE,
];
