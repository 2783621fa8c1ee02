//! Granite with experts, and with one more that sees every token.

use super::family::*;
use super::granite::GRANITE;

pub(super) const GRANITE_MOE: Family = Family {
    architecture: "granitemoe",
    classes: &["GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"],
    types: &["granitemoe", "granitemoeshared"],
    rows: &[TRUNK, ATTENTION, TWO_NORMS, GRANITE_EXPERTS, GRANITE_SHARED],
    keys: &[BASE, ROTARY, GRANITE_SCALES, SHARED_LENGTH],
    refuse: has_experts,
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [32000, 4096, 11008, 32, 32, 2048],
        more: &[
            ("embedding_multiplier", 1.0),
            ("logits_scaling", 1.0),
            ("residual_multiplier", 1.0),
            ("attention_multiplier", 1.0),
            ("num_local_experts", 8.0),
            ("num_experts_per_tok", 2.0),
        ],
        ..DEFAULTS
    }),
    back: None,
    mlx: false,
    ..GRANITE
};

const RULES: &[Rule] = &[SILU, HEADS_SHARE, free(&["attention_bias"])];

/// The converter has no names for a model of this class without experts.
fn has_experts(settings: &Settings, _: &About<'_>) -> Result<()> {
    match settings.count("num_local_experts") {
        Some(0) => Err(not_yet("models of GraniteMoe without experts")),
        _ => Ok(()),
    }
}
