//! Qwen 3.8: the encoder of Qwen 3.5.

use super::projector::*;
use super::qwen3_5::QWEN3_5;

pub(super) const QWEN4_EXP: Projector =
    Projector { shown: "qwen4_exp", classes: &["Qwen4ExpForConditionalGeneration"], ..QWEN3_5 };
