//! GLM-5V: the encoder of Kimi-K2.5.

use super::kimi_k25::KIMI_K25;
use super::projector::*;

pub(super) const GLM5V: Projector =
    Projector { shown: "glm5v", classes: &["Glm5vForConditionalGeneration"], ..KIMI_K25 };
