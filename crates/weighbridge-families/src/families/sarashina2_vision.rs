//! The language model of Sarashina 2 Vision, which transformers does not know.

use super::family::*;
use super::llama::LLAMA;

pub(super) const SARASHINA2_VISION: Family = Family {
    classes: &["Sarashina2VisionForCausalLM"],
    types: &["sarashina2_vision"],
    prefix: "llm.model.",
    left_out: &[("/norm.", "part of the vision model, which GGUF stores in a separate file")],
    rules: &[RULES, ROPE],
    defaults: None,
    back: None,
    mlx: false,
    ..LLAMA
};

const RULES: &[Rule] = &[
    SILU,
    free(&["attention_bias", "mlp_bias", "start_image_token_index", "end_image_token_index"]),
];
