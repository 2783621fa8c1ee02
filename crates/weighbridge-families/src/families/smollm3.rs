//! SmolLM 3.

use super::family::*;

pub(super) const SMOLLM3: Family = Family {
    architecture: "smollm3",
    classes: &["SmolLM3ForCausalLM"],
    types: &["smollm3"],
    pairs: true,
    tied: true,
    keys: &[BASE, ROTARY],
    computed: llama3_factors,
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [128256, 2048, 11008, 36, 16, 32768],
        key_heads: KeyHeads::Of(4),
        theta: 2000000.0,
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::LlamaLike,
    // Which layers have no rotary positions is the same for llama.cpp and for the class.
    back: Some(Back {
        flags: ALL_BIASES,
        untold: &[
            ("no_rope_layers", "no rotary positions in every 4th layer"),
            NO_WINDOWS,
            ("sliding_window", "null"),
            ("layer_types", "full_attention in every layer"),
        ],
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    SEES_ALL,
    NO_ATTENTION_BIAS,
    NO_MLP_BIAS,
    differs(
        &["no_rope_layers", "no_rope_layer_interval"],
        every_fourth_is_not_rotated,
        "gives every fourth layer no rotary positions, and no other",
    ),
    fails(
        &["rope_scaling.low_freq_factor"],
        |case, _| !case.has("rope_freqs.weight"),
        "this family has no rotary factors",
    ),
];

pub(super) fn every_fourth_is_not_rotated(case: &Case<'_>, rotated: &Json) -> bool {
    match rotated.as_array() {
        Some(layers) => (1..).zip(layers).all(|(at, rotates)| (at % 4 == 0) == (*rotates == 0)),
        None => case.settings.count("no_rope_layer_interval").unwrap_or(4) == 4,
    }
}
