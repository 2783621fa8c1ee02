//! The language model of GLM-OCR, with a layer that predicts one more token.

use super::family::*;
use super::glm4::NORMS;
use super::glm4v::{GLM4V, ROWS};

pub(super) const GLM_OCR: Family = Family {
    classes: &["GlmOcrForConditionalGeneration"],
    types: &["glm_ocr_text", "glm_ocr"],
    rows: &[ROWS, TRUNK, FUSED_MLP, NORMS, NEXTN],
    predicts: true,
    counts_next: Some("num_nextn_predict_layers"),
    keys: &[BASE, KEYS],
    defaults: Some(Defaults {
        sizes: [59392, 1024, 4096, 16, 16, 131072],
        key_heads: KeyHeads::Of(8),
        epsilon: ("rms_norm_eps", 1e-5),
        ..DEFAULTS
    }),
    ..GLM4V
};

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    ("rope.dimension_count", Count, Made(rotated_width)),
    ("nextn_predict_layers", Count, Any(&["num_nextn_predict_layers"])),
];
