//! GLM-4.1V and GLM-4.5V: gated layers, and a convolution that makes four patches one.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const GLM4V: Projector = Projector {
    shown: "glm4v",
    classes: &["Glm4vForConditionalGeneration", "Glm4vMoeForConditionalGeneration"],
    defaults: r#"{"vision_config": {"depth": 24, "hidden_size": 1536, "intermediate_size": 13696, "num_heads": 12,
        "image_size": 336, "patch_size": 14, "hidden_act": "silu", "rms_norm_eps": 1e-5}}"#,
    settle: |facts| {
        size_of_positions(facts)?;
        qwen_names(facts);
        Ok(())
    },
    starts: &[("visual.", "visual."), ("model.visual.", "visual.")],
    rows: &[
        QWEN_BLOCKS,
        ONE_QKV,
        TWO_PATCHES,
        &[
            ("visual.blocks.#.attn.q_norm", &["v.blk.#.attn_q_norm"], Plain),
            ("visual.blocks.#.attn.k_norm", &["v.blk.#.attn_k_norm"], Plain),
            ("visual.embeddings.position_embedding", &["v.position_embd"], Plain),
            ("visual.post_conv_layernorm", &["v.norm_embd"], Plain),
            ("visual.post_layernorm", &["v.post_ln"], Plain),
            ("visual.downsample", &["mm.patch_merger"], Plain),
            ("visual.merger.proj", &["mm.model.fc"], Plain),
            ("visual.merger.post_projection_norm", &["mm.post_norm"], Plain),
            ("visual.merger.gate_proj", &["mm.gate"], Plain),
            ("visual.merger.up_proj", &["mm.up"], Plain),
            ("visual.merger.down_proj", &["mm.down"], Plain),
        ],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("glm4v")),
            ("use_gelu", Flag, Made(uses_gelu)),
            ("use_silu", Flag, Made(uses_silu)),
            (EPSILON, Number, VisionOr(&["rms_norm_eps"], 1e-5)),
        ],
    ],
    assumes: &[
        ("vision.hidden_act", &["gelu", "silu"], "computes `gelu_quick`"),
        THETA,
        MERGES_TWO,
    ],
    needs: &[
        "v.patch_embd.weight",
        "v.patch_embd.weight.1",
        "v.position_embd.weight",
        "v.norm_embd.weight",
        "v.post_ln.weight",
        "mm.patch_merger.weight",
        "mm.patch_merger.bias",
        "mm.model.fc.weight",
        "mm.post_norm.weight",
        "mm.post_norm.bias",
        "mm.gate.weight",
        "mm.up.weight",
        "mm.down.weight",
    ],
    has_width: true,
    ..PROJECTOR
};

pub(super) fn uses_gelu(facts: &Facts<'_>) -> Result<Option<Json>> {
    Ok(acts(facts, "gelu"))
}

pub(super) fn uses_silu(facts: &Facts<'_>) -> Result<Option<Json>> {
    Ok(acts(facts, "silu"))
}

fn acts(facts: &Facts<'_>, act: &str) -> Option<Json> {
    let stated = facts.vision.get("hidden_act").and_then(Json::as_str)?;
    stated.eq_ignore_ascii_case(act).then_some(true.into())
}
