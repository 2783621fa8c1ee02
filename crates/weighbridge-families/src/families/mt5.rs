//! MT5: T5 with a gate and more languages.

use super::family::*;
use super::t5::{ENCODER_RULES, NAMES, T5};

pub(super) const MT5: Family = Family {
    shown: Some("mt5"),
    classes: &["MT5ForConditionalGeneration"],
    types: &["mt5"],
    rules: &[&[free(&["scale_decoder_outputs"])], ENCODER_RULES],
    defaults: Some(Defaults {
        names: NAMES,
        sizes: [250112, 512, 1024, 8, 6, 0],
        epsilon: ("layer_norm_epsilon", 1e-6),
        learns_positions: true,
        more: &[
            ("d_kv", 64.0),
            ("relative_attention_num_buckets", 32.0),
            ("decoder_start_token_id", 0.0),
        ],
        ..DEFAULTS
    }),
    ..T5
};
