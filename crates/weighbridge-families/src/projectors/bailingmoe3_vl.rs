//! Ling 3 VL: Qwen 3's encoder with a norm for a merger, and a projection of its own.

use super::projector::*;

pub(super) const BAILINGMOE3_VL: Projector = Projector {
    shown: "bailingmoe3_vl",
    classes: &["BailingMoeV3VLForConditionalGeneration"],
    settle: |facts| {
        const MERGER: &str = "disable_merger_proj";
        if facts.vision.get(MERGER) != Some(&true.into()) {
            return Err(odd(MERGER, facts.vision.get(MERGER)));
        }
        needed(&facts.vision, "out_hidden_size")?;
        size_of_positions(facts)?;
        qwen_names(facts);
        Ok(())
    },
    starts: &[("model.visual.", "visual."), ("visual.", "visual."), ("linear_proj.", "mm.")],
    rows: &[
        QWEN_BLOCKS,
        ONE_QKV,
        TWO_PATCHES,
        &[
            ("visual.pos_embed", &["v.position_embd"], Plain),
            ("visual.merger.norm", &["mm.input_norm"], Plain),
            ("mm.#", &["mm.#"], Plain),
        ],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("ling3vl")),
            GELU,
            (MERGE, Count, Made(|facts| Ok(given(&facts.vision, "spatial_merge_size")))),
            (EPSILON, Number, Made(|facts| Ok(Some(text_epsilon(facts))))),
        ],
    ],
    assumes: &[("vision.hidden_act", GELUS, "computes `gelu`")],
    needs: &[
        "mm.0.weight",
        "mm.2.weight",
        "v.patch_embd.weight",
        "v.patch_embd.weight.1",
        "v.position_embd.weight",
    ],
    ..PROJECTOR
};

/// llama.cpp computes norms of the encoder with the language model's constant.
fn text_epsilon(facts: &Facts<'_>) -> serde_json::Value {
    first(&facts.config["text_config"], &["rms_norm_eps"]).unwrap_or(1e-6.into())
}
