//! Idefics 3 and SmolVLM: SigLIP, and a projection of several patches at once.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const IDEFICS3: Projector = Projector {
    shown: "idefics3",
    classes: &["Idefics3ForConditionalGeneration", "SmolVLMForConditionalGeneration"],
    defaults: r#"{"scale_factor": 2, "vision_config": {"hidden_size": 1152, "intermediate_size": 3072,
        "num_hidden_layers": 12, "num_attention_heads": 16, "image_size": 224, "patch_size": 32,
        "layer_norm_eps": 1e-6, "hidden_act": "gelu_pytorch_tanh"}}"#,
    starts: &[("model.vision_model.", "vision."), ("model.connector.", "connector.")],
    rows: &[SIGLIP, &[("connector.modality_projection.proj", &["mm.model.fc"], Plain)]],
    forced: &[("v.patch_embd.weight", Forced::Single), ("v.position_embd.weight", Forced::Single)],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("idefics3")),
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-5)),
            (SCALE, Count, WholeOr(&["scale_factor"], 2.0)),
            GELU,
            ("vision.preproc_image_size", Count, Made(longest)),
        ],
    ],
    assumes: &[("vision.hidden_act", GELUS, "computes gelu")],
    needs: &[
        "v.patch_embd.weight",
        "v.patch_embd.bias",
        "v.position_embd.weight",
        "v.post_ln.weight",
        "mm.model.fc.weight",
    ],
    has_width: true,
    ..PROJECTOR
};

/// The longest side that images are scaled to.
fn longest(facts: &Facts<'_>) -> Result<Option<Json>> {
    let stated = facts.processor.pointer("/size/longest_edge");
    Ok(stated.or(facts.vision.get("image_size")).cloned())
}
