//! Unlimited-OCR: DeepSeek-OCR, with more tiles.

use super::deepseek_ocr::{DEEPSEEK_OCR, SAM_KEYS, SAM_WIDTHS, tiles};
use super::projector::*;

pub(super) const UNLIMITED_OCR: Projector = Projector {
    shown: "unlimited_ocr",
    classes: &["UnlimitedOCRForCausalLM"],
    keys: &[
        VISION,
        &[("projector_type", Text, Says("deepseekocr"))],
        SAM_KEYS,
        &[tiles(32.0)],
        SAM_WIDTHS,
    ],
    ..DEEPSEEK_OCR
};
