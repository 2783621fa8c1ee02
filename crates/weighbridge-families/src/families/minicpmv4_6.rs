//! The language model of MiniCPM-V 4.6: Qwen 3.5.

use super::family::*;
use super::qwen3_5::{self, QWEN3_5};

pub(super) const MINICPMV4_6: Family = Family {
    classes: &["MiniCPMV4_6ForConditionalGeneration"],
    types: &["minicpmv4_6"],
    left_out: &[
        ("mtp.", "next-token prediction layers, which this class does not have in GGUF"),
        ("model.merger.", "part of the vision model, which GGUF stores in a separate file"),
    ],
    rules: &[RULES, qwen3_5::LINEAR_RULES, qwen3_5::RULES, ROPE],
    defaults: None,
    mlx: false,
    ..QWEN3_5
};

const RULES: &[Rule] = &[
    free(&["downsample_mode", "drop_vision_last_layer", "image_size", "insert_layer_id"]),
    free(&["merge_kernel_size", "merger_times", "patch_size"]),
];
