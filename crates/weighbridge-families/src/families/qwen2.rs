//! Qwen 2 and 2.5.

use super::family::*;

pub(super) const QWEN2: Family = Family {
    architecture: "qwen2",
    classes: &[
        "Qwen2ForCausalLM",
        "Qwen2Model",
        "Qwen2AudioForConditionalGeneration",
        "AudioFlamingo3ForConditionalGeneration",
        "DotsOCRForCausalLM",
    ],
    types: &["qwen2"],
    keys: &[BASE, &[POOLING]],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [151936, 4096, 22016, 32, 32, 32768],
        key_heads: KeyHeads::Of(32),
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PiecesOrPairs,
    back: Some(Back {
        flags: &[("", &[Q, K, V])],
        untold: &[
            NO_WINDOWS,
            ("sliding_window", "null"),
            ("layer_types", "full_attention in every layer"),
        ],
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[SILU, SEES_ALL, HEADS_SHARE];
