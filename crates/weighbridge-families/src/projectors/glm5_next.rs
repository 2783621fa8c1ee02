//! GLM-5.3: the encoder of GLM-OCR, with layers whose inputs are bounded, and a budget of tokens for an image.

use serde_json::Value as Json;

use super::glm4v::{GLM4V, uses_gelu, uses_silu};
use super::projector::*;

pub(super) const GLM5_NEXT: Projector = Projector {
    shown: "glm5_next",
    classes: &["Glm5NextForConditionalGeneration"],
    defaults: r#"{"vision_config": {"depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "num_heads": 16,
        "image_size": 336, "patch_size": 14, "hidden_act": "silu", "rms_norm_eps": 1e-5, "spatial_merge_size": 2,
        "swiglu_limit": 10.0}}"#,
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("glm5v")),
            ("use_gelu", Flag, Made(uses_gelu)),
            ("use_silu", Flag, Made(uses_silu)),
            (EPSILON, Number, VisionOr(&["rms_norm_eps"], 1e-5)),
            (MERGE, Count, VisionOr(&["spatial_merge_size"], 2.0)),
            ("vision.swiglu_clamp", Number, Made(|facts| Ok(given(&facts.vision, "swiglu_limit")))),
            (MIN_PIXELS, Count, Made(|facts| pixels(facts, "min_image_tokens"))),
            (MAX_PIXELS, Count, Made(|facts| pixels(facts, "max_image_tokens"))),
        ],
    ],
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

/// How many pixels so many tokens stand for.
fn pixels(facts: &Facts<'_>, key: &str) -> Result<Option<Json>> {
    let of = |key, usual| count(&facts.processor, key).unwrap_or(usual);
    let Some(tokens) = given(&facts.processor, key) else { return Ok(None) };
    let tokens = crate::families::whole(&tokens).ok_or_else(|| odd(key, Some(&tokens)))?;
    let side = of("patch_size", 14).saturating_mul(of("merge_size", 2));
    Ok(side.checked_pow(2).and_then(|pixels| pixels.checked_mul(tokens)).map(Json::from))
}
