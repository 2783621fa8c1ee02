//! Kimi-VL: `MoonViT`, with four patches made one.

use super::projector::*;

pub(super) const KIMI_VL: Projector = Projector {
    shown: "kimi_vl",
    classes: &["KimiVLForConditionalGeneration"],
    settle: |facts| {
        // Images may have any size. This one is what the converter writes.
        set(&mut facts.vision, "image_size", 896);
        Ok(())
    },
    starts: &[("vision_tower.", "vision."), ("multi_modal_projector.", "mm.")],
    rows: &[
        MOONVIT,
        &[
            ("vision.patch_embed.pos_emb", &["v.position_embd"], Own(flattened)),
            (
                "vision.encoder.blocks.#.wqkv",
                &["v.blk.#.attn_q", "v.blk.#.attn_k", "v.blk.#.attn_v"],
                Split,
            ),
        ],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("kimivl")),
            GELU,
            (SCALE, Count, Is(2.0)),
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-5)),
        ],
    ],
    assumes: &[("vision.merge_kernel_size", &["[2,2]"], "merges two by two patches")],
    needs: &[
        "mm.1.weight",
        "mm.2.weight",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.post_ln.weight",
    ],
    ..PROJECTOR
};
