//! dots.ocr: gated layers, and norms without a mean.

use super::projector::*;

pub(super) const DOTS_OCR: Projector = Projector {
    shown: "dots_ocr",
    classes: &["DotsOCRForCausalLM"],
    settle: |facts| {
        // Images may have any size.
        set(&mut facts.vision, "image_size", 0);
        Ok(())
    },
    starts: &[("vision_tower.", "vision.")],
    rows: &[&[
        ("vision.patch_embed.patchifier.proj", &["v.patch_embd"], Plain),
        ("vision.patch_embed.patchifier.norm", &["v.pre_ln"], Plain),
        ("vision.blocks.#.norm1", &["v.blk.#.ln1"], Plain),
        ("vision.blocks.#.norm2", &["v.blk.#.ln2"], Plain),
        ("vision.blocks.#.attn.qkv", &["v.blk.#.attn_qkv"], Plain),
        ("vision.blocks.#.attn.proj", &["v.blk.#.attn_out"], Plain),
        ("vision.blocks.#.mlp.fc1", &["v.blk.#.ffn_gate"], Plain),
        ("vision.blocks.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
        ("vision.blocks.#.mlp.fc3", &["v.blk.#.ffn_up"], Plain),
        ("vision.post_trunk_norm", &["mm.post_norm"], Plain),
        ("vision.merger.ln_q", &["mm.input_norm"], Plain),
        ("vision.merger.mlp.#", &["mm.#"], Plain),
    ]],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("dots_ocr")),
            (MIN_PIXELS, Count, Processor(&["min_pixels"])),
            (MAX_PIXELS, Count, Processor(&["max_pixels"])),
            (EPSILON, Number, Vision(&["rms_norm_eps"])),
            (SCALE, Count, Vision(&["spatial_merge_size"])),
            SILU,
        ],
    ],
    needs: &["mm.0.weight", "mm.2.weight", "v.patch_embd.weight", "v.pre_ln.weight"],
    ..PROJECTOR
};
