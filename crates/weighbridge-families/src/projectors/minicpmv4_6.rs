//! MiniCPM-V 4.6: SigLIP, with a layer between its layers that makes patches fewer.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const MINICPMV4_6: Projector = Projector {
    shown: "minicpmv4_6",
    classes: &["MiniCPMV4_6ForConditionalGeneration"],
    defaults: r#"{"insert_layer_id": 6, "vision_config": {"hidden_size": 768, "intermediate_size": 3072,
        "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 224, "patch_size": 16,
        "layer_norm_eps": 1e-6}}"#,
    settle,
    starts: &[("model.vision_tower.", "vision."), ("model.merger.mlp.0.", "merger.")],
    leaves_out: |facts, name| {
        let is_between = name.starts_with("vision.vit_merger.");
        (is_between && merged(facts) == Ok(2)).then_some("not used where 4 patches become one")
    },
    rows: &[
        SIGLIP,
        &[
            ("vision.vit_merger.layer_norm1", &["v.vit_merger.ln1"], Plain),
            ("vision.vit_merger.self_attn.q_proj", &["v.vit_merger.attn_q"], Plain),
            ("vision.vit_merger.self_attn.k_proj", &["v.vit_merger.attn_k"], Plain),
            ("vision.vit_merger.self_attn.v_proj", &["v.vit_merger.attn_v"], Plain),
            ("vision.vit_merger.self_attn.out_proj", &["v.vit_merger.attn_out"], Plain),
            ("vision.vit_merger.pre_norm", &["v.vit_merger.ds_ln"], Plain),
            ("vision.vit_merger.linear_1", &["v.vit_merger.ds_ffn_up"], Plain),
            ("vision.vit_merger.linear_2", &["v.vit_merger.ds_ffn_down"], Plain),
            ("merger.pre_norm", &["mm.input_norm"], Plain),
            ("merger.linear_1", &["mm.up"], Plain),
            ("merger.linear_2", &["mm.down"], Plain),
        ],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("minicpmv4_6")),
            (SCALE, Count, Made(|facts| Ok(merged(facts).ok().map(Json::from)))),
            ("vision.wa_layer_indexes", Counts, Made(inserted)),
            GELU,
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
        ],
    ],
    assumes: &[("vision.hidden_act", GELUS, "computes `gelu`")],
    needs: &[
        "mm.down.weight",
        "mm.up.weight",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.post_ln.weight",
    ],
    ..PROJECTOR
};

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    merged(facts).map_err(|stated| odd("downsample_mode", Some(&stated)))?;
    if let Some(size) = count(&facts.processor, "scale_resolution") {
        set(&mut facts.vision, "image_size", size);
    }
    Ok(())
}

/// How many patches a side become one.
fn merged(facts: &Facts<'_>) -> std::result::Result<u64, Json> {
    let stated = facts.processor.get("downsample_mode");
    match stated.map(Json::as_str) {
        None | Some(Some("16x")) => Ok(4),
        Some(Some("4x")) => Ok(2),
        _ => Err(stated.cloned().unwrap_or_default()),
    }
}

/// The layer behind which the one between is.
fn inserted(facts: &Facts<'_>) -> Result<Option<Json>> {
    Ok(Some(vec![needed(&facts.config, "insert_layer_id")?].into()))
}
