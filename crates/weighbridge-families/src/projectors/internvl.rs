//! InternVL, in its own layout and in that of transformers.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const INTERNVL: Projector = Projector {
    shown: "internvl",
    classes: &["InternVisionModel"],
    settle,
    starts: &[
        ("vision_model.", "vision."),
        ("model.vision_tower.", "tower."),
        ("vision_tower.", "tower."),
        ("mlp1.", "mm.mlp."),
        ("model.multi_modal_projector.layer_norm.", "mm.mlp.0."),
        ("model.multi_modal_projector.linear_1.", "mm.mlp.1."),
        ("model.multi_modal_projector.linear_2.", "mm.mlp.3."),
        ("multi_modal_projector.layer_norm.", "mm.mlp.0."),
        ("multi_modal_projector.linear_1.", "mm.mlp.1."),
        ("multi_modal_projector.linear_2.", "mm.mlp.3."),
    ],
    rows: &[OWN, TRANSFORMERS],
    forced: &[("v.position_embd.weight", Forced::Single)],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("internvl")),
            (EPSILON, Number, Vision(&["layer_norm_eps"])),
        ],
        ACTIVATION,
        &[
            (SCALE, Count, Made(shrinking)),
            ("vision.preproc_min_tiles", Count, Made(|facts| tiles(facts, "min_dynamic_patch"))),
            ("vision.preproc_max_tiles", Count, Made(|facts| tiles(facts, "max_dynamic_patch"))),
        ],
    ],
    assumes: &[
        ("ps_version", &["v2"], "shuffles patches as version 2 does"),
        ("select_layer", &["-1"], "takes the last layer"),
        ("vision_feature_layer", &["-1"], "takes the last layer"),
    ],
    needs: &[
        "v.class_embd",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "mm.model.mlp.0.weight",
        "mm.model.mlp.0.bias",
        "mm.model.mlp.1.weight",
        "mm.model.mlp.1.bias",
        "mm.model.mlp.3.weight",
        "mm.model.mlp.3.bias",
    ],
    has_width: true,
    ..PROJECTOR
};

const OWN: &[Row] = &[
    ("mm.mlp.#", &["mm.model.mlp.#"], Plain),
    ("vision.embeddings.class_embedding", &["v.class_embd"], Plain),
    ("vision.embeddings.patch_embedding", &["v.patch_embd"], Plain),
    ("vision.embeddings.position_embedding", &["v.position_embd.weight"], Plain),
    ("vision.encoder.layers.#.norm1", &["v.blk.#.ln1"], Plain),
    ("vision.encoder.layers.#.norm2", &["v.blk.#.ln2"], Plain),
    ("vision.encoder.layers.#.ls1", &["v.blk.#.ls1.weight"], Plain),
    ("vision.encoder.layers.#.ls2", &["v.blk.#.ls2.weight"], Plain),
    (
        "vision.encoder.layers.#.attn.qkv",
        &["v.blk.#.attn_q", "v.blk.#.attn_k", "v.blk.#.attn_v"],
        Split,
    ),
    ("vision.encoder.layers.#.attn.q_norm", &["v.blk.#.attn_q_norm"], Plain),
    ("vision.encoder.layers.#.attn.k_norm", &["v.blk.#.attn_k_norm"], Plain),
    ("vision.encoder.layers.#.attn.proj", &["v.blk.#.attn_out"], Plain),
    ("vision.encoder.layers.#.mlp.fc1", &["v.blk.#.ffn_up"], Plain),
    ("vision.encoder.layers.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
];

const TRANSFORMERS: &[Row] = &[
    ("tower.embeddings.cls_token", &["v.class_embd"], Plain),
    ("tower.embeddings.patch_embeddings.projection", &["v.patch_embd"], Plain),
    ("tower.embeddings.position_embeddings", &["v.position_embd.weight"], Plain),
    ("tower.encoder.layer.#.layernorm_before", &["v.blk.#.ln1"], Plain),
    ("tower.encoder.layer.#.layernorm_after", &["v.blk.#.ln2"], Plain),
    ("tower.encoder.layer.#.lambda_1", &["v.blk.#.ls1.weight"], Plain),
    ("tower.encoder.layer.#.lambda_2", &["v.blk.#.ls2.weight"], Plain),
    ("tower.encoder.layer.#.attention.q_proj", &["v.blk.#.attn_q"], Plain),
    ("tower.encoder.layer.#.attention.k_proj", &["v.blk.#.attn_k"], Plain),
    ("tower.encoder.layer.#.attention.v_proj", &["v.blk.#.attn_v"], Plain),
    ("tower.encoder.layer.#.attention.q_norm", &["v.blk.#.attn_q_norm"], Plain),
    ("tower.encoder.layer.#.attention.k_norm", &["v.blk.#.attn_k_norm"], Plain),
    ("tower.encoder.layer.#.attention.projection_layer", &["v.blk.#.attn_out"], Plain),
    ("tower.encoder.layer.#.mlp.fc1", &["v.blk.#.ffn_up"], Plain),
    ("tower.encoder.layer.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
];

/// Sizes may be lists of two.
fn settle(facts: &mut Facts<'_>) -> Result<()> {
    for key in ["image_size", "patch_size"] {
        let stated = facts.vision.get(key).cloned();
        if let Some(first) = stated.as_ref().and_then(|size| size.get(0)) {
            set(&mut facts.vision, key, first.clone());
        }
    }
    Ok(())
}

/// How many patches a side become one.
fn shrinking(facts: &Facts<'_>) -> Result<Option<Json>> {
    whole_inverse(&facts.config, "downsample_ratio").map(Some)
}

/// How many tiles an image becomes, where the config says.
fn tiles(facts: &Facts<'_>, key: &str) -> Result<Option<Json>> {
    Ok(count(&facts.config, key).filter(|tiles| *tiles > 0).map(Json::from))
}
