//! LightOnOCR: Pixtral without a token at the end of a row.

use super::mistral3::MISTRAL3;
use super::projector::*;

pub(super) const LIGHTON_OCR: Projector = Projector {
    shown: "lighton_ocr",
    classes: &["LightOnOCRForConditionalGeneration"],
    settle: only_pixtral,
    starts: &[
        ("model.vision_encoder.", "vision."),
        ("vision_tower.", "vision."),
        ("model.vision_projection.", "mm."),
        ("multi_modal_projector.", "mm."),
    ],
    rows: &[PIXTRAL],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("lightonocr")),
            (EPSILON, Number, Vision(&["layer_norm_eps"])),
        ],
        ACTIVATION,
        &[(MERGE, Count, Made(|facts| Ok(given(&facts.config, "spatial_merge_size"))))],
    ],
    assumes: &[("vision.rope_theta", &["10000.0", "10000"], "turns positions by 10000"), THETA],
    needs: &[
        "v.patch_embd.weight",
        "v.pre_ln.weight",
        "mm.input_norm.weight",
        "mm.patch_merger.weight",
        "mm.1.weight",
        "mm.2.weight",
    ],
    has_width: true,
    ..MISTRAL3
};
