//! Granite with sliding windows in most layers, and attention sinks.

use super::family::*;
use super::granite::GRANITE;

pub(super) const GRANITE_SWA: Family = Family {
    architecture: "granite_swa",
    classes: &["GraniteSWAForCausalLM"],
    types: &["granite_swa"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, GRANITE_SINKS],
    gguf: &[GGUF],
    keys: &[BASE, ROTARY, GRANITE_SCALES, GRANITE_WINDOWS],
    refuse: tells_windows,
    rules: &[GRANITE_WINDOW_RULES, RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [100352, 2560, 8192, 24, 20, 8192],
        key_heads: KeyHeads::Of(4),
        epsilon: ("rms_norm_eps", 1e-5),
        more: &[
            ("embedding_multiplier", 1.0),
            ("logits_scaling", 1.0),
            ("residual_multiplier", 1.0),
            ("attention_multiplier", 1.0),
            ("sliding_window", 128.0),
        ],
        ..DEFAULTS
    }),
    tied: true,
    back: None,
    mlx: false,
    ..GRANITE
};

const RULES: &[Rule] = &[free(&["mlp_bias"])];
