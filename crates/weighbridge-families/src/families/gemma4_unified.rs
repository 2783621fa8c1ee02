//! Gemma 4 without encoders: images and sounds go into the language model as they are.

use super::family::*;
use super::gemma4::{GEMMA4, KEYS};

pub(super) const GEMMA4_UNIFIED: Family = Family {
    classes: &["Gemma4UnifiedForConditionalGeneration"],
    types: &["gemma4_unified_text", "gemma4_unified"],
    keys: &[BASE, KEYS, &[SUPPRESSED]],
    defaults: Some(Defaults {
        sizes: [262144, 2304, 9216, 30, 8, 262144],
        key_heads: KeyHeads::Of(4),
        head: Head::Of(256),
        theta: 1000000.0,
        local_theta: Some(10000.0),
        scaling: Some(("proportional", &[("partial_rotary_factor", 0.25)])),
        more: &[("sliding_window", 1024.0), ("num_kv_shared_layers", 0.0)],
        ..DEFAULTS
    }),
    ..GEMMA4
};

/// Tokens that stand for images and sounds, which the model is not to write.
const SUPPRESSED: KeyRow = ("tokenizer.ggml.suppress_tokens", Counts, Made(suppressed));

fn suppressed(settings: &Settings) -> Option<Json> {
    let tokens = settings.find(&[GENERATION])?.get("suppress_tokens")?;
    Some(tokens.clone()).filter(|tokens| !tokens.is_null())
}
