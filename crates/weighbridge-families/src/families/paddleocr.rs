//! The language model of PaddleOCR-VL: ERNIE 4.5 with rotary sections.

use super::ernie4_5::{self, ERNIE4_5};
use super::family::*;
use super::qwen2_vl::SECTIONS;

pub(super) const PADDLEOCR: Family = Family {
    architecture: "paddleocr",
    classes: &["PaddleOCRVLForConditionalGeneration"],
    types: &["paddleocr_vl_text", "paddleocr_vl"],
    has_sections: true,
    left_out: &[
        ("mlp_AR.", "part of the vision model, which GGUF stores in a separate file"),
        ("model.projector.", "part of the vision model, which GGUF stores in a separate file"),
    ],
    rules: &[RULES, ernie4_5::RULES, ROPE],
    back: None,
    mlx: false,
    ..ERNIE4_5
};

const RULES: &[Rule] = &[SECTIONS];
