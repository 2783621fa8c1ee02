//! Gemma 3: SigLIP, and a projection with a norm.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const GEMMA3: Projector = Projector {
    shown: "gemma3",
    classes: &["Gemma3ForConditionalGeneration"],
    defaults: r#"{"vision_config": {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
        "num_attention_heads": 12, "image_size": 224, "patch_size": 16, "layer_norm_eps": 1e-6}}"#,
    starts: &[
        ("vision_tower.vision_model.", "vision."),
        ("model.vision_tower.vision_model.", "vision."),
        ("vision_tower.", "vision."),
        ("vision_model.", "vision."),
        ("multi_modal_projector.", "mm."),
        ("model.multi_modal_projector.", "mm."),
    ],
    left_out: &[("vision_tower.vision_model.head.", HEAD), ("vision_model.head.", HEAD)],
    rows: &[
        SIGLIP,
        &[
            ("mm.mm_input_projection_weight", &["mm.input_projection.weight"], Plain),
            ("mm.mm_soft_emb_norm", &["mm.soft_emb_norm"], Plus(1.0)),
        ],
    ],
    forced: &[
        ("mm.input_projection.weight", Forced::Half),
        ("v.patch_embd.weight", Forced::Single),
        ("v.position_embd.weight", Forced::Single),
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("gemma3")),
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
            GELU,
            (SCALE, Count, Made(scale)),
        ],
    ],
    needs: &[
        "v.patch_embd.weight",
        "v.patch_embd.bias",
        "v.position_embd.weight",
        "v.post_ln.weight",
        "mm.input_projection.weight",
        "mm.soft_emb_norm.weight",
    ],
    has_width: true,
    ..PROJECTOR
};

const HEAD: &str = "pooling head, not used by Gemma";

/// How many patches a side become one, where they are not four.
fn scale(facts: &Facts<'_>) -> Result<Option<Json>> {
    let tokens = count(&facts.processor, "image_seq_length").unwrap_or(256);
    let [image, patch] =
        [needed(&facts.vision, "image_size")?, needed(&facts.vision, "patch_size")?];
    let scale = image.checked_div(patch).and_then(|side| side.checked_div(tokens.isqrt()));
    Ok(scale.filter(|scale| ![0, 4].contains(scale)).map(Json::from))
}
