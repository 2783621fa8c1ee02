//! HunYuan-VL: an encoder, and convolutions that make its patches fewer.

use super::projector::*;
use super::rows::Part;
use crate::view::View;

pub(super) const HUNYUAN_VL: Projector = Projector {
    shown: "hunyuan_vl",
    classes: &["HunYuanVLForConditionalGeneration"],
    defaults: r#"{"vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27,
        "num_attention_heads": 16, "patch_size": 16, "max_image_size": 2048}}"#,
    settle: |facts| {
        let most = needed(&facts.vision, "max_image_size")?;
        set_default(&mut facts.vision, "image_size", most);
        Ok(())
    },
    starts: &[("vit.", "vit.")],
    rows: &[&[
        ("vit.embeddings.patch_embedding", &["v.patch_embd"], Plain),
        ("vit.embeddings.position_embedding", &["v.position_embd"], Own(positions)),
        ("vit.layers.#.input_layernorm", &["v.blk.#.ln1"], Plain),
        ("vit.layers.#.post_attention_layernorm", &["v.blk.#.ln2"], Plain),
        ("vit.layers.#.self_attn.q_proj", &["v.blk.#.attn_q"], Plain),
        ("vit.layers.#.self_attn.k_proj", &["v.blk.#.attn_k"], Plain),
        ("vit.layers.#.self_attn.v_proj", &["v.blk.#.attn_v"], Plain),
        ("vit.layers.#.self_attn.o_proj", &["v.blk.#.attn_out"], Plain),
        ("vit.layers.#.mlp.dense_h_to_4h", &["v.blk.#.ffn_up"], Plain),
        ("vit.layers.#.mlp.dense_4h_to_h", &["v.blk.#.ffn_down"], Plain),
        ("vit.perceive.before_rms", &["mm.pre_norm"], Plain),
        ("vit.perceive.after_rms", &["mm.post_norm"], Plain),
        ("vit.perceive.proj.#", &["mm.#"], Plain),
        ("vit.perceive.mlp", &["mm.model.fc"], Plain),
        ("vit.perceive.image_newline", &["v.image_newline"], Plain),
        ("vit.perceive.image_begin", &["mm.image_begin"], Plain),
        ("vit.perceive.image_end", &["mm.image_end"], Plain),
        ("vit.perceive.image_sep", &["v.view_seperator"], Plain),
    ]],
    forced: &[("mm.#.weight", Forced::HalfOrSingle)],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("hunyuanvl")),
            GELU,
            (EPSILON, Number, VisionOr(&["rms_norm_eps", "layer_norm_eps"], 1e-5)),
            (MERGE, Count, VisionOr(&["spatial_merge_size"], 2.0)),
            (MIN_PIXELS, Count, Processor(&["min_pixels"])),
            (MAX_PIXELS, Count, Processor(&["max_pixels"])),
        ],
    ],
    assumes: &[("vision.hidden_act", GELUS, "computes `gelu`")],
    needs: &[
        "mm.0.weight",
        "mm.2.weight",
        "mm.image_begin",
        "mm.image_end",
        "mm.model.fc.weight",
        "v.image_newline",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.view_seperator",
    ],
    ..PROJECTOR
};

/// All but the first, which is that of the class token.
fn positions(_: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let &[rows, width] = shape else { return None };
    let kept = [rows.checked_sub(1)?, width];
    Some(vec![Part::whole(&kept, View::part(&kept, 1))])
}
