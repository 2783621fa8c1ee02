//! DeepSeek V4 with an encoder, whose settings are among those of the language model.

use serde_json::json;

use super::projector::*;

pub(super) const DEEPSEEK4_V: Projector = Projector {
    shown: "deepseek4_v",
    classes: &["DeepseekV4ForCausalLM"],
    vision: "",
    settle,
    starts: &[("vision.", "vision."), ("aligner.", "aligner."), ("image_", "image_")],
    rows: &[&[
        ("vision.patch_embed.proj.weight", &["v.patch_embd.weight"], Own(kernel)),
        ("vision.patch_embed.proj", &["v.patch_embd"], Plain),
        ("vision.blocks.#.norm1", &["v.blk.#.ln1"], Plain),
        ("vision.blocks.#.norm2", &["v.blk.#.ln2"], Plain),
        ("vision.blocks.#.attn.wqkv", &["v.blk.#.attn_qkv"], Plain),
        ("vision.blocks.#.attn.wo", &["v.blk.#.attn_out"], Plain),
        ("vision.blocks.#.mlp.w1", &["v.blk.#.ffn_gate", "v.blk.#.ffn_up"], Split),
        ("vision.blocks.#.mlp.w2", &["v.blk.#.ffn_down"], Plain),
        ("vision.norm", &["v.post_ln"], Plain),
        ("aligner.w1", &["mm.1"], Plain),
        ("aligner.w2", &["mm.2"], Plain),
        ("image_newline", &["v.image_newline"], Plain),
        ("image_start", &["v.token_embd.img_start"], Plain),
        ("image_end", &["v.token_embd.img_end"], Plain),
        ("image_pad", &["v.token_embd.img_pad"], Plain),
    ]],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("deepseek4v")),
            (EPSILON, Number, Is(1e-6)),
            SILU,
            (SCALE, Count, Whole(&["vision_downsample_ratio"])),
            (MIN_PIXELS, Count, Whole(&["vision_min_pixels"])),
        ],
    ],
    assumes: &[
        ("vision_max_n_token", &["384"], "has at most 384 tokens for an image"),
        ("vision_max_wh_ratio", &["8"], "has sides whose ratio is at most 8"),
        ("vision_rope_theta", &["10000", "10000.0"], "turns with a base of 10000"),
    ],
    needs: &[
        "mm.1.weight",
        "mm.2.weight",
        "v.image_newline",
        "v.patch_embd.weight",
        "v.post_ln.weight",
        "v.token_embd.img_end",
        "v.token_embd.img_pad",
        "v.token_embd.img_start",
    ],
    ..PROJECTOR
};

const NAMES: [(&str, &str); 5] = [
    ("vision_n_layers", "num_hidden_layers"),
    ("vision_dim", "hidden_size"),
    ("vision_n_heads", "num_attention_heads"),
    ("vision_inter_dim", "intermediate_size"),
    ("vision_patch_size", "patch_size"),
];

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    for (own, usual) in NAMES {
        let value = needed(&facts.config, own)?;
        set(&mut facts.vision, usual, value);
    }
    let patch = needed(&facts.vision, "patch_size")?;
    let size = needed(&facts.config, "vision_downsample_ratio")?.checked_mul(16);
    let size = size.and_then(|size| size.checked_mul(patch));
    set(&mut facts.vision, "image_size", size);
    // The repository does not say. Its code takes these.
    set_default(&mut facts.processor, "image_mean", json!([0.5, 0.5, 0.5]));
    set_default(&mut facts.processor, "image_std", json!([0.5, 0.5, 0.5]));
    Ok(())
}
