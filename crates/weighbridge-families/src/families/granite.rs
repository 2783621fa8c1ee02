//! Granite.

use super::family::*;

pub(super) const GRANITE: Family = Family {
    architecture: "granite",
    classes: &["GraniteForCausalLM"],
    types: &["granite"],
    pairs: true,
    ignored: &["head_dim"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS],
    keys: &[BASE, ROTARY, GRANITE_SCALES],
    computed: llama3_factors,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "llama3"],
    defaults: Some(Defaults {
        sizes: [32000, 4096, 11008, 32, 32, 2048],
        more: &[
            ("embedding_multiplier", 1.0),
            ("logits_scaling", 1.0),
            ("residual_multiplier", 1.0),
            ("attention_multiplier", 1.0),
        ],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::LlamaLike,
    back: Some(Back {
        made: &[
            ("attention.scale", "attention_multiplier"),
            ("embedding_scale", "embedding_multiplier"),
            ("residual_scale", "residual_multiplier"),
            ("logit_scale", "logits_scaling"),
        ],
        flags: ALL_BIASES,
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[SILU, HEADS_SHARE, free(&["attention_bias", "mlp_bias"])];
