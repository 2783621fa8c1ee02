//! The text model of Kimi K2.5: DeepSeek V3's.

use super::deepseek_v2::RULES;
use super::deepseek_v3::DEEPSEEK_V3;
use super::family::*;

pub(super) const KIMI_K25: Family = Family {
    classes: &["KimiK25ForConditionalGeneration"],
    // Configs call the text model `kimi_k2`, which the class takes for DeepSeek V3's.
    types: &["kimi_k25_text", "kimi_k25"],
    rules: &[RULES, KIMI, ROPE],
    back: None,
    ..DEEPSEEK_V3
};

/// Where pictures stand in a text.
pub(super) const KIMI: &[Rule] =
    &[free(&["media_placeholder_token_id", "use_unified_vision_chunk", "video_placeholder"])];
