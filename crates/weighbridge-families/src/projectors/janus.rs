//! Janus: SigLIP, and an aligner of several layers.

use serde_json::Value as Json;

use super::projector::*;
use crate::families::whole;

pub(super) const JANUS: Projector = Projector {
    shown: "janus",
    classes: &["JanusForConditionalGeneration"],
    defaults: r#"{"vision_config": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
        "image_size": 384, "patch_size": 16, "layer_norm_eps": 1e-6, "hidden_act": "gelu", "mlp_ratio": 4.0}}"#,
    settle,
    starts: &[
        ("model.vision_model.", "vision."),
        ("model.aligner.", "aligner."),
        ("aligner.", "aligner."),
    ],
    left_out: &[
        ("model.vqmodel.", IMAGES),
        ("vqmodel.", IMAGES),
        ("model.generation_", IMAGES),
        ("generation_", IMAGES),
    ],
    rename: |_, name| Ok(aligner(name)),
    rows: &[
        SIGLIP,
        &[
            ("vision.encoder.layers.#.self_attn.projection_layer", &["v.blk.#.attn_out"], Plain),
            ("aligner.#", &["mm.#"], Plain),
        ],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("janus_pro")),
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
            ("use_gelu", Flag, Made(|facts| Ok(acts(facts, "gelu")))),
            ("use_silu", Flag, Made(|facts| Ok(acts(facts, "silu")))),
        ],
    ],
    assumes: &[("vision.hidden_act", &["gelu", "silu"], "computes `gelu_quick`")],
    needs: &[
        "mm.0.weight",
        "mm.1.weight",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.post_ln.weight",
    ],
    ..PROJECTOR
};

const IMAGES: &str = "makes images, which llama.cpp does not";

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    let width = needed(&facts.vision, "hidden_size")?;
    let ratio = facts.vision.get("mlp_ratio").cloned();
    if let Some(ratio) = ratio.as_ref().and_then(Json::as_f64) {
        #[allow(clippy::cast_precision_loss)] // A width is small.
        let inner = (width as f64 * ratio).round_ties_even();
        let inner = whole(&inner.into()).ok_or_else(|| odd("mlp_ratio", Some(&ratio.into())))?;
        set_default(&mut facts.vision, "intermediate_size", inner);
    }
    Ok(())
}

fn acts(facts: &Facts<'_>, act: &str) -> Option<Json> {
    let stated = facts.vision.get("hidden_act").and_then(Json::as_str)?;
    stated.eq_ignore_ascii_case(act).then_some(true.into())
}

/// The first layer has a name of its own; the others are counted from zero.
fn aligner(name: &str) -> Option<String> {
    let layer = name.strip_prefix("aligner.")?;
    if let Some(end) = layer.strip_prefix("fc1.") {
        return Some(format!("aligner.0.{end}"));
    }
    let (number, end) = layer.strip_prefix("hidden_layers.")?.split_once('.')?;
    Some(format!("aligner.{}.{end}", number.parse::<u64>().ok()?.checked_add(1)?))
}
