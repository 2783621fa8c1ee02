//! Qwen 3-VL: learned positions, and outputs of some layers that go to layers of the language model.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const QWEN3_VL: Projector = Projector {
    shown: "qwen3_vl",
    classes: &["Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration"],
    defaults: r#"{"vision_config": {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16,
        "patch_size": 16, "spatial_merge_size": 2, "num_position_embeddings": 2304,
        "deepstack_visual_indexes": [8, 16, 24]}}"#,
    settle: |facts| {
        size_of_positions(facts)?;
        qwen_names(facts);
        Ok(())
    },
    starts: &[("visual.", "visual."), ("model.visual.", "visual.")],
    rename: deepstack_names,
    rows: &[QWEN_BLOCKS, ONE_QKV, QWEN3_MERGER, TWO_PATCHES],
    keys: &[VISION, &[("projector_type", Text, Says("qwen3vl_merger"))], QWEN3_KEYS],
    assumes: &[THETA, ("vision.hidden_act", GELUS, "computes gelu")],
    needs: &[
        "v.patch_embd.weight",
        "v.patch_embd.weight.1",
        "v.position_embd.weight",
        "v.post_ln.weight",
        "mm.0.weight",
        "mm.0.bias",
        "mm.2.weight",
        "mm.2.bias",
    ],
    has_width: true,
    ..PROJECTOR
};

/// What files of Qwen 3's vision encoders have behind the type.
pub(super) const QWEN3_KEYS: &[KeyRow] = &[
    GELU,
    (MERGE, Count, Made(|facts| Ok(given(&facts.vision, "spatial_merge_size")))),
    (EPSILON, Number, Made(|facts| Ok(Some(text_epsilon(facts))))),
    ("vision.is_deepstack_layers", FlagList, Made(deepstack)),
];

/// llama.cpp computes norms of the encoder with the language model's constant.
fn text_epsilon(facts: &Facts<'_>) -> Json {
    let texts = ["/text_config/rms_norm_eps", "/thinker_config/text_config/rms_norm_eps"];
    texts.iter().find_map(|at| facts.config.pointer(at)).cloned().unwrap_or(1e-6.into())
}

/// Which layers go to the language model.
fn deepstack(facts: &Facts<'_>) -> Result<Option<Json>> {
    let layers = needed(&facts.vision, "num_hidden_layers")?;
    let chosen = deepstack_layers(facts)?;
    match chosen.iter().all(|layer| *layer < layers) {
        true if layers == 0 => Ok(None),
        true => Ok(Some((0..layers).map(|layer| chosen.contains(&layer)).collect())),
        false => Err(odd(DEEPSTACK, facts.vision.get(DEEPSTACK))),
    }
}
