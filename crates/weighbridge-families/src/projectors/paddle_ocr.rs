//! PaddleOCR-VL: SigLIP for images of any size.

use super::projector::*;

pub(super) const PADDLE_OCR: Projector = Projector {
    shown: "paddle_ocr",
    classes: &["PaddleOCRVisionModel"],
    defaults: r#"{"vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27,
        "num_attention_heads": 16, "patch_size": 14}}"#,
    settle: |facts| {
        let size = needed(&facts.processor, "max_pixels")?.isqrt();
        set(&mut facts.vision, "image_size", size);
        Ok(())
    },
    starts: &[("visual.vision_model.", "vision."), ("mlp_AR.", "mm.")],
    left_out: &[
        ("visual.vision_model.embeddings.packing_position_embedding.", "used in training only"),
        ("visual.vision_model.head.", "pooling head, not used by PaddleOCR-VL"),
    ],
    rows: &[
        SIGLIP,
        &[
            ("mm.pre_norm", &["mm.input_norm"], Plain),
            ("mm.linear_1", &["mm.1"], Plain),
            ("mm.linear_2", &["mm.2"], Plain),
        ],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("paddleocr")),
            (MAX_PIXELS, Count, Processor(&["max_pixels"])),
            (MIN_PIXELS, Count, Processor(&["min_pixels"])),
            GELU,
            (EPSILON, Number, VisionOr(&["rms_norm_eps"], 1e-6)),
        ],
    ],
    assumes: &[("vision.hidden_act", GELUS, "computes `gelu`")],
    needs: &[
        "mm.1.weight",
        "mm.2.weight",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.post_ln.weight",
    ],
    ..PROJECTOR
};
