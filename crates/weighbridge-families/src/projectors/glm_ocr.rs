//! GLM-OCR: the encoder of GLM-4.1V, with norms of queries and keys, without learned positions.

use super::glm4v::GLM4V;
use super::projector::*;

pub(super) const GLM_OCR: Projector = Projector {
    shown: "glm_ocr",
    classes: &["GlmOcrForConditionalGeneration"],
    defaults: r#"{"vision_config": {"depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "num_heads": 16,
        "image_size": 336, "patch_size": 14, "hidden_act": "silu", "rms_norm_eps": 1e-5}}"#,
    needs: &[
        "v.patch_embd.weight",
        "v.patch_embd.weight.1",
        "v.post_ln.weight",
        "mm.patch_merger.weight",
        "mm.patch_merger.bias",
        "mm.model.fc.weight",
        "mm.post_norm.weight",
        "mm.post_norm.bias",
        "mm.gate.weight",
        "mm.up.weight",
        "mm.down.weight",
    ],
    ..GLM4V
};
