//! The language model of Step 3 VL: Qwen 3.

use super::family::*;
use super::qwen3::QWEN3;

pub(super) const STEP_VL: Family = Family {
    classes: &["StepVLForConditionalGeneration"],
    types: &["step_robotics", "step3_vl"],
    left_out: &[(
        "vit_large_projector.",
        "part of the vision model, which GGUF stores in a separate file",
    )],
    rules: &[RULES, ROPE],
    defaults: None,
    back: None,
    mlx: false,
    ..QWEN3
};

const RULES: &[Rule] = &[
    SILU,
    SEES_ALL,
    NO_ATTENTION_BIAS,
    free(&["understand_projector_stride", "projector_bias", "image_token_len", "patch_token_len"]),
    free(&["im_start_token", "im_end_token", "im_patch_token", "image_token_len"]),
];
