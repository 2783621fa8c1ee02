//! UMT5: MT5 with relative positions in every layer.

use super::family::*;
use super::mt5::MT5;
use super::t5::ENCODER_RULES;

pub(super) const UMT5: Family = Family {
    shown: Some("umt5"),
    classes: &["UMT5ForConditionalGeneration", "UMT5Model"],
    types: &["umt5"],
    rules: &[RULES, ENCODER_RULES],
    ..MT5
};

const RULES: &[Rule] = &[differs(
    &["tie_word_embeddings"],
    |_, is_tied| *is_tied == false,
    "does not divide logits by the root of the width",
)];
