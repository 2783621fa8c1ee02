//! CamemBERT, which the converter takes for BERT, though its positions begin as RoBERTa's do.

use super::bert::{BERT, RULES};
use super::family::*;

pub(super) const CAMEMBERT: Family = Family {
    shown: Some("camembert"),
    classes: &["CamembertModel"],
    types: &["camembert"],
    rules: &[POSITIONS, RULES],
    back: None,
    ..BERT
};

const POSITIONS: &[Rule] = &[differs(
    &["pad_token_id"],
    |_, _| false,
    "counts positions from the first, and this model from the one behind padding",
)];
