//! The encoder of T5 alone, which image models read texts with.

use super::family::*;
use super::t5::{ENCODER_ROWS, ENCODER_RULES, KEYS, T5, TRUNK};

pub(super) const T5_ENCODER: Family = Family {
    architecture: "t5encoder",
    classes: &["T5EncoderModel"],
    types: &["t5"],
    rows: &[TRUNK, ENCODER_ROWS],
    keys: &[KEYS, &[FILE_TYPE]],
    refuse: |_, _| Ok(()),
    rules: &[ENCODER_RULES],
    ..T5
};
