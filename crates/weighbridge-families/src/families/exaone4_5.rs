//! The text part of EXAONE 4.5: EXAONE 4, with layers that predict further tokens.

use super::exaone4::EXAONE4;
use super::family::*;

pub(super) const EXAONE4_5: Family = Family {
    classes: &["Exaone4_5_ForConditionalGeneration"],
    types: &["exaone4_5", "exaone4_5_text"],
    defaults: None,
    back: None,
    mlx: false,
    ..EXAONE4
};
