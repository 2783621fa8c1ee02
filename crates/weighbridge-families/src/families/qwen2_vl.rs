//! The language models of Qwen 2 VL, Qwen 2.5 VL and Qwen 2.5 Omni.

use super::family::*;

pub(super) const QWEN2_VL: Family = Family {
    architecture: "qwen2vl",
    classes: &[
        "Qwen2VLForConditionalGeneration",
        "Qwen2_5_VLForConditionalGeneration",
        "Qwen2VLModel",
        "Qwen2_5OmniModel",
    ],
    types: &["qwen2_vl_text", "qwen2_vl", "qwen2_5_vl_text", "qwen2_5_vl"],
    prefix: "model.language_model.",
    has_sections: true,
    left_out: SPEECH,
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [152064, 8192, 29568, 80, 64, 32768],
        key_heads: KeyHeads::Of(8),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 1000000.0,
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PiecesOrPairs,
    mlx: false,
    ..DECODER
};

/// What Qwen's models speak with.
pub(super) const SPEECH: &[(&str, &str)] = &[
    ("talker.", "part of the model that speaks, which GGUF does not have"),
    ("token2wav.", "part of the model that speaks, which GGUF does not have"),
    ("code2wav.", "part of the model that speaks, which GGUF does not have"),
];

pub(super) const SECTIONS: Rule = fails(
    &["rope_scaling.mrope_section", "rope_parameters"],
    |_, sections| !sections.is_null(),
    "this family needs the sections of rotary positions",
);

const RULES: &[Rule] = &[
    SILU,
    SEES_ALL,
    HEADS_SHARE,
    SECTIONS,
    // Those that are published, 1e-6, change little.
    differs(
        &["rms_norm_eps"],
        |_, epsilon| epsilon.as_f64().is_none_or(|epsilon| epsilon <= 1e-5),
        "does not read it in this family: its norms have none",
    ),
];
