//! The text model of Kimi-VL, which transformers does not know: DeepSeek V3's.

use super::deepseek_v2::RULES;
use super::deepseek_v3::DEEPSEEK_V3;
use super::family::*;
use super::kimi_k25::KIMI;

pub(super) const KIMI_VL: Family = Family {
    classes: &["KimiVLForConditionalGeneration"],
    types: &["kimi_vl"],
    as_stated: true,
    defaults: None,
    rules: &[RULES, KIMI, ROPE],
    back: None,
    ..DEEPSEEK_V3
};
