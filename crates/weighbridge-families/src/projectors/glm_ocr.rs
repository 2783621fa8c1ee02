//! GLM-OCR: the encoder of GLM-4.1V, with norms of queries and keys, without learned positions.

use super::glm4v::GLM4V;
use super::projector::*;

pub(super) const GLM_OCR: Projector = Projector {
    shown: "glm_ocr",
    classes: &["GlmOcrForConditionalGeneration"],
    defaults: r#"{"vision_config": {"depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "num_heads": 16,
        "image_size": 336, "patch_size": 14, "hidden_act": "silu", "rms_norm_eps": 1e-5}}"#,
    ..GLM4V
};
