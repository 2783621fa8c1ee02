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
    back: Some(Back {
        refuse: refuse_shared,
        made: &[
            ("attention.scale", "attention_multiplier"),
            ("embedding_scale", "embedding_multiplier"),
            ("residual_scale", "residual_multiplier"),
            ("logit_scale", "logits_scaling"),
        ],
        flags: ATTENTION_BIAS,
        ..BACK
    }),
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

/// A model with one more expert is of another class.
fn refuse_shared(told: &Told<'_>) -> Result<()> {
    if !told.has("blk.0.ffn_up_shexp.weight") {
        return Ok(());
    }
    Err(Error::unsupported("restoring GraniteMoeShared models is not supported yet"))
}
