//! The language model of Janus Pro.

use super::family::*;
use super::llama::LLAMA;

pub(super) const JANUS: Family = Family {
    classes: &["JanusForConditionalGeneration"],
    types: &["janus"],
    prefix: "model.language_model.",
    left_out: &[
        ("model.aligner.", "part of the vision model, which GGUF stores in a separate file"),
        ("model.vqmodel.", PAINTS),
        ("model.generation_", PAINTS),
    ],
    rules: &[RULES, ROPE],
    defaults: None,
    back: None,
    mlx: false,
    ..LLAMA
};

const PAINTS: &str = "part of the model that makes images, which GGUF does not have";

const RULES: &[Rule] = &[SILU, free(&["attention_bias", "mlp_bias", "vq_config"])];
