//! LFM2-VL: SigLIP 2, all of its layers or all but the last ones.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const LFM2_VL: Projector = Projector {
    shown: "lfm2_vl",
    classes: &["Lfm2VlForConditionalGeneration"],
    defaults: r#"{"vision_config": {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
        "num_attention_heads": 12, "patch_size": 16, "layer_norm_eps": 1e-6}}"#,
    settle: |facts| {
        // Images may have any size. This one is what the converter writes.
        set(&mut facts.vision, "image_size", 256);
        Ok(())
    },
    starts: &[
        ("model.vision_tower.vision_model.", "vision."),
        ("vision_tower.vision_model.", "vision."),
        ("model.multi_modal_projector.", "mm."),
        ("multi_modal_projector.", "mm."),
    ],
    rows: &[
        // Before rows of the same name.
        &[("vision.embeddings.patch_embedding.weight", &["v.patch_embd.weight"], Pixels)],
        SIGLIP,
        &[
            ("mm.layer_norm", &["mm.input_norm"], Plain),
            ("mm.linear_1", &["mm.1"], Plain),
            ("mm.linear_2", &["mm.2"], Plain),
        ],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("lfm2")),
            (EPSILON, Number, Vision(&["layer_norm_eps"])),
            (SCALE, Count, WholeOr(&["downsample_factor"], 2.0)),
            GELU,
            ("vision.block_count", Count, Made(layers)),
        ],
    ],
    layers: Layers::AtLeast,
    assumes: &[
        ("vision.hidden_act", GELUS, "computes `gelu`"),
        ("vision.patch_size", &["16"], "has patches of 16 by 16"),
        ("projector_hidden_act", GELUS, "computes `gelu`"),
    ],
    needs: &[
        "mm.1.weight",
        "mm.2.weight",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.post_ln.weight",
    ],
    ..PROJECTOR
};

/// The layer whose output is used is counted from the last, which is -1.
fn layers(facts: &Facts<'_>) -> Result<Option<Json>> {
    const KEY: &str = "vision_feature_layer";
    let stated = facts.config.get(KEY);
    let behind = stated.map_or(Some(-1), Json::as_i64).and_then(|layer| layer.checked_add(1));
    let all = first(&facts.vision, DEPTH).and_then(|layers| layers.as_u64());
    let used = behind.zip(all).and_then(|(behind, all)| all.checked_add_signed(behind));
    used.map(|used| Some(used.into())).ok_or_else(|| odd(KEY, stated))
}
