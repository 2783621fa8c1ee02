//! Sarashina 2 Vision: the encoder of Qwen 2-VL.

use super::projector::*;

pub(super) const SARASHINA2_VISION: Projector = Projector {
    shown: "sarashina2_vision",
    classes: &["Sarashina2VisionForCausalLM"],
    starts: &[("visual.", "visual.")],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("qwen2vl_merger")),
            (EPSILON, Number, WholeOr(&["rms_norm_eps"], 1e-6)),
        ],
    ],
    ..super::qwen2_vl::QWEN2_VL
};
