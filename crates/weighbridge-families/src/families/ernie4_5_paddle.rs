//! ERNIE 4.5 as Paddle saves it: some of its weights are fused.

use super::ernie4_5::ERNIE4_5;
use super::family::*;

pub(super) const ERNIE4_5_PADDLE: Family =
    Family { classes: &["Ernie4_5_ForCausalLM"], back: None, ..ERNIE4_5 };
