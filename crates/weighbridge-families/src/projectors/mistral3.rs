//! Mistral 3: Pixtral, with several patches made one.

use super::llava::LLAVA;
use super::projector::*;

pub(super) const MISTRAL3: Projector = Projector {
    shown: "mistral3",
    classes: &["Mistral3ForConditionalGeneration"],
    defaults: r#"{"spatial_merge_size": 2, "vision_config": {"hidden_size": 1024, "intermediate_size": 4096,
        "num_hidden_layers": 24, "num_attention_heads": 16, "image_size": 1024, "patch_size": 16, "hidden_act": "gelu"}}"#,
    needs: &[
        "v.patch_embd.weight",
        "v.pre_ln.weight",
        "v.token_embd.img_break",
        "mm.input_norm.weight",
        "mm.patch_merger.weight",
        "mm.1.weight",
        "mm.2.weight",
    ],
    ..LLAVA
};
