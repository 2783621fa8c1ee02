//! DeepSeek-OCR: SAM before CLIP.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const DEEPSEEK_OCR: Projector = Projector {
    shown: "deepseek_ocr",
    classes: &["DeepseekOCRForCausalLM"],
    settle: |facts| {
        sam(facts)?;
        let clip = facts.vision["width"]["clip-l-14-224"].clone();
        for (key, value) in clip.as_object().into_iter().flatten() {
            set(&mut facts.vision, key, value.clone());
        }
        rename(&mut facts.vision, "width", "hidden_size");
        let heads = needed(&facts.vision, "heads")?;
        set(&mut facts.vision, "num_heads", heads);
        // No layer is as narrow. llama.cpp takes the width from weights.
        set(&mut facts.vision, "intermediate_size", heads.saturating_mul(4));
        Ok(())
    },
    starts: &[
        ("model.sam_model.", "sam."),
        ("model.vision_model.", "vision."),
        ("model.projector.", "projector."),
        ("model.image_newline", "image_newline"),
        ("model.view_seperator", "view_seperator"),
    ],
    rows: &[
        SAM,
        &[
            ("vision.embeddings.class_embedding", &["v.class_embd"], Plain),
            ("vision.embeddings.patch_embedding", &["v.patch_embd"], Plain),
            ("vision.embeddings.position_embedding", &["v.position_embd"], Plain),
            ("vision.pre_layrnorm", &["v.pre_ln"], Plain),
            ("vision.transformer.layers.#.layer_norm1", &["v.blk.#.ln1"], Plain),
            ("vision.transformer.layers.#.layer_norm2", &["v.blk.#.ln2"], Plain),
            ("vision.transformer.layers.#.self_attn.qkv_proj", &["v.blk.#.attn_qkv"], Plain),
            ("vision.transformer.layers.#.self_attn.out_proj", &["v.blk.#.attn_out"], Plain),
            ("vision.transformer.layers.#.mlp.fc1", &["v.blk.#.ffn_up"], Plain),
            ("vision.transformer.layers.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
        ],
    ],
    forced: &[
        ("v.patch_embd.weight", Forced::Single),
        ("v.sam.pos_embd.weight", Forced::Single),
        ("v.sam.blk.#.attn.pos_h.weight", Forced::Single),
        ("v.sam.blk.#.attn.pos_w.weight", Forced::Single),
        ("v.sam.neck.*", Forced::Single),
        ("v.sam.net_*", Forced::Single),
    ],
    keys: &[
        VISION,
        &[("projector_type", Text, Says("deepseekocr"))],
        SAM_KEYS,
        &[tiles(9.0)],
        SAM_WIDTHS,
    ],
    needs: &[
        "mm.model.fc.weight",
        "v.class_embd",
        "v.image_newline",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.pre_ln.weight",
        "v.sam.neck.0.weight",
        "v.sam.neck.1.weight",
        "v.sam.neck.2.weight",
        "v.sam.neck.3.weight",
        "v.sam.net_2.weight",
        "v.sam.net_3.weight",
        "v.sam.patch_embd.weight",
        "v.sam.pos_embd.weight",
        "v.view_seperator",
    ],
    ..PROJECTOR
};

/// SAM, and the projection behind both encoders.
pub(super) const SAM: &[Row] = &[
    ("sam.pos_embed", &["v.sam.pos_embd.weight"], Plain),
    ("sam.patch_embed.proj", &["v.sam.patch_embd"], Plain),
    ("sam.blocks.#.norm1", &["v.sam.blk.#.pre_ln"], Plain),
    ("sam.blocks.#.norm2", &["v.sam.blk.#.post_ln"], Plain),
    ("sam.blocks.#.attn.rel_pos_h", &["v.sam.blk.#.attn.pos_h.weight"], Plain),
    ("sam.blocks.#.attn.rel_pos_w", &["v.sam.blk.#.attn.pos_w.weight"], Plain),
    ("sam.blocks.#.attn.qkv", &["v.sam.blk.#.attn.qkv"], Plain),
    ("sam.blocks.#.attn.proj", &["v.sam.blk.#.attn.out"], Plain),
    ("sam.blocks.#.mlp.lin1", &["v.sam.blk.#.mlp.lin1"], Plain),
    ("sam.blocks.#.mlp.lin2", &["v.sam.blk.#.mlp.lin2"], Plain),
    ("sam.neck.#", &["v.sam.neck.#"], Plain),
    ("sam.net_2", &["v.sam.net_2"], Plain),
    ("sam.net_3", &["v.sam.net_3"], Plain),
    ("projector.layers", &["mm.model.fc"], Plain),
    ("image_newline", &["v.image_newline"], Plain),
    ("view_seperator", &["v.view_seperator"], Own(row)),
];

/// What files with SAM have behind the projector's type.
pub(super) const SAM_KEYS: &[KeyRow] = &[
    (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
    GELU,
    (SCALE, Count, Made(scale)),
    ("vision.window_size", Count, VisionOr(&["window_size"], 14.0)),
    ("vision.preproc_min_tiles", Count, Is(2.0)),
];

/// Into how many tiles an image is cut at most.
pub(super) const fn tiles(most: f64) -> KeyRow {
    ("vision.preproc_max_tiles", Count, Is(most))
}

/// What they have behind that.
pub(super) const SAM_WIDTHS: &[KeyRow] = &[
    ("vision.sam.block_count", Count, Made(|facts| of_sam(facts, "layers"))),
    ("vision.sam.embedding_length", Count, Made(|facts| of_sam(facts, "width"))),
    ("vision.sam.head_count", Count, Made(|facts| of_sam(facts, "heads"))),
];

/// Keeps the settings of SAM, which are among the widths.
pub(super) fn sam(facts: &mut Facts<'_>) -> Result<()> {
    let sam = facts.vision["width"]["sam_vit_b"].clone();
    if sam.is_null() {
        return Err(odd("vision_config.width", facts.vision.get("width")));
    }
    set(&mut facts.vision, "sam", sam);
    Ok(())
}

fn of_sam(facts: &Facts<'_>, key: &str) -> Result<Option<Json>> {
    needed(&facts.vision["sam"], key).map(|value| Some(value.into()))
}

/// How many patches a side become one, where they are not four.
fn scale(facts: &Facts<'_>) -> Result<Option<Json>> {
    let tokens = count(&facts.processor, "image_seq_length").unwrap_or(256);
    let [image, patch] =
        [needed(&facts.vision, "image_size")?, needed(&facts.vision, "patch_size")?];
    let scale = image.checked_div(patch).and_then(|side| side.checked_div(tokens.isqrt()));
    Ok(scale.filter(|scale| ![0, 4].contains(scale)).map(Json::from))
}
