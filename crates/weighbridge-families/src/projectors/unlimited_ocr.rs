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
    needs: &[
        "mm.model.fc.weight",
        "v.class_embd",
        "v.image_newline",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.pre_ln.weight",
        "v.sam.neck.0.weight",
        "v.sam.neck.1.weight",
        "v.sam.neck.2.weight",
        "v.sam.neck.3.weight",
        "v.sam.net_2.weight",
        "v.sam.net_3.weight",
        "v.sam.patch_embd.weight",
        "v.sam.pos_embd.weight",
        "v.view_seperator",
    ],
    ..DEEPSEEK_OCR
};
