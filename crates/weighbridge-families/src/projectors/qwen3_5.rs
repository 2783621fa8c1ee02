//! Qwen 3.5: the encoder of Qwen 3-VL, whose last layer only goes to the language model.

use super::projector::*;
use super::qwen3_vl::QWEN3_VL;

pub(super) const QWEN3_5: Projector = Projector {
    shown: "qwen3_5",
    classes: &["Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration"],
    defaults: r#"{"vision_config": {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16,
        "patch_size": 16, "spatial_merge_size": 2, "num_position_embeddings": 2304}}"#,
    ..QWEN3_VL
};
