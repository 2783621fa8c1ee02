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
