//! EXAONE 4.5: the encoder of Qwen 2.5-VL, with key heads that several query heads share.

use serde_json::Value as Json;

use super::projector::*;
use super::qwen2_5_vl::QWEN2_5_VL;

pub(super) const EXAONE4_5: Projector = Projector {
    shown: "exaone4_5",
    classes: &["Exaone4_5_ForConditionalGeneration"],
    defaults: r#"{"vision_config": {"depth": 32, "hidden_size": 3584, "intermediate_size": 3420, "num_heads": 16,
        "num_key_value_heads": 8, "patch_size": 14, "window_size": 112, "spatial_merge_size": 2,
        "fullatt_block_indexes": [7, 15, 23, 31]}}"#,
    rows: &[QWEN_BLOCKS, ONE_QKV, QWEN_MERGER, TWO_PATCHES],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("exaone4_5")),
            SILU,
            (MIN_PIXELS, Count, Processor(&["min_pixels"])),
            (MAX_PIXELS, Count, Processor(&["max_pixels"])),
            (
                "vision.attention.head_count_kv",
                Count,
                Made(|facts| Ok(given(&facts.vision, "num_key_value_heads"))),
            ),
            (EPSILON, Number, Made(epsilon)),
            ("vision.window_size", Count, Made(|facts| Ok(given(&facts.vision, "window_size")))),
            ("vision.n_wa_pattern", Count, Made(windows)),
        ],
    ],
    assumes: &[("vision.hidden_act", &["silu"], "computes silu"), THETA, MERGES_TWO],
    ..QWEN2_5_VL
};

fn epsilon(facts: &Facts<'_>) -> Result<Option<Json>> {
    let stated = first(&facts.vision, &["rms_norm_eps"]);
    Ok(Some(stated.or(first(&facts.config, &["rms_norm_eps"])).unwrap_or(1e-6.into())))
}

/// Every how many layers one sees the whole image, if only some do.
fn windows(facts: &Facts<'_>) -> Result<Option<Json>> {
    let stated = given(&facts.vision, "fullatt_block_indexes");
    if stated.is_none_or(|layers| layers.as_array().is_some_and(Vec::is_empty)) {
        return Ok(None);
    }
    regular_windows(facts).map(|period| Some(period.into()))
}
