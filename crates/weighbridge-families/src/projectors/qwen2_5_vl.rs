//! Qwen 2.5-VL: layers that see a window, with some among them that see the whole image.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const QWEN2_5_VL: Projector = Projector {
    shown: "qwen2_5_vl",
    classes: &["Qwen2_5_VLForConditionalGeneration"],
    defaults: r#"{"vision_config": {"depth": 32, "hidden_size": 3584, "intermediate_size": 3420, "num_heads": 16,
        "patch_size": 14, "fullatt_block_indexes": [7, 15, 23, 31]}}"#,
    settle: |facts| {
        qwen_names(facts);
        Ok(())
    },
    starts: &[("visual.", "visual."), ("model.visual.", "visual.")],
    rows: &[QWEN_BLOCKS, SPLIT_QKV, QWEN_MERGER, TWO_PATCHES],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("qwen2.5vl_merger")),
            SILU,
            ("vision.n_wa_pattern", Count, Made(windows)),
            (EPSILON, Number, Is(1e-6)),
        ],
    ],
    assumes: &[
        THETA,
        MERGES_TWO,
        ("vision.window_size", &["112"], "has windows of 112 pixels"),
        ("vision.hidden_act", &["silu"], "computes silu"),
    ],
    needs: &[
        "v.patch_embd.weight",
        "v.patch_embd.weight.1",
        "v.post_ln.weight",
        "mm.0.weight",
        "mm.0.bias",
        "mm.2.weight",
        "mm.2.bias",
    ],
    has_width: true,
    ..PROJECTOR
};

pub(super) fn windows(facts: &Facts<'_>) -> Result<Option<Json>> {
    regular_windows(facts).map(|period| Some(period.into()))
}
