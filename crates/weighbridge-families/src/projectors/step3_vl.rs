//! Step 3 VL: an encoder with a scale for each layer, and convolutions that make its patches fewer.

use serde_json::{Value as Json, json};

use super::projector::*;

pub(super) const STEP3_VL: Projector = Projector {
    shown: "step3_vl",
    classes: &["StepVLForConditionalGeneration", "Step3p7ForConditionalGeneration"],
    settle,
    starts: &[
        ("vision_model.vit_downsampler1.", "down1."),
        ("vision_model.vit_downsampler2.", "down2."),
        ("vision_model.", "vision."),
        ("vit_large_projector.", "projector."),
    ],
    rows: &[&[
        ("vision.conv1", &["v.patch_embd"], Plain),
        ("vision.positional_embedding", &["v.position_embd.weight"], Plain),
        ("vision.ln_pre", &["v.pre_ln"], Plain),
        ("vision.transformer.resblocks.#.ln_1", &["v.blk.#.ln1"], Plain),
        ("vision.transformer.resblocks.#.ln_2", &["v.blk.#.ln2"], Plain),
        ("vision.transformer.resblocks.#.ls_1.gamma", &["v.blk.#.ls1.weight"], Plain),
        ("vision.transformer.resblocks.#.ls_2.gamma", &["v.blk.#.ls2.weight"], Plain),
        ("vision.transformer.resblocks.#.attn.in_proj_weight", &["v.blk.#.attn_qkv.weight"], Plain),
        ("vision.transformer.resblocks.#.attn.in_proj_bias", &["v.blk.#.attn_qkv.bias"], Plain),
        ("vision.transformer.resblocks.#.attn.out_proj", &["v.blk.#.attn_out"], Plain),
        ("vision.transformer.resblocks.#.mlp.c_fc", &["v.blk.#.ffn_up"], Plain),
        ("vision.transformer.resblocks.#.mlp.c_proj", &["v.blk.#.ffn_down"], Plain),
        ("down1", &["mm.0"], Plain),
        ("down2", &["mm.1"], Plain),
        ("projector", &["mm.model.fc"], Plain),
    ]],
    forced: &[("mm.#.weight", Forced::HalfOrSingle)],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("step3vl")),
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-5)),
            (SCALE, Count, Is(4.0)),
            ("vision.preproc_image_size", Count, Is(3024.0)),
        ],
    ],
    needs: &[
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.pre_ln.weight",
        "mm.0.weight",
        "mm.1.weight",
        "mm.model.fc.weight",
    ],
    ..PROJECTOR
};

/// What the converter takes, and no other.
const KNOWN: [(&str, &[&str], u64); 3] =
    [("image_size", &["image_size"], 728), ("hidden_size", WIDTH, 1536), ("layers", DEPTH, 47)];

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    const STRIDE: &str = "understand_projector_stride";
    if needed(&facts.config, STRIDE)? != 2 {
        return Err(odd(STRIDE, facts.config.get(STRIDE)));
    }
    for (name, keys, known) in KNOWN {
        let stated = first(&facts.vision, keys);
        if stated != Some(known.into()) {
            return Err(odd(name, stated.as_ref()));
        }
    }
    let ratio = facts.vision.get("mlp_ratio").and_then(Json::as_f64).unwrap_or(8960.0 / 1536.0);
    if count(&facts.vision, "intermediate_size").unwrap_or(0) == 0 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // Not negative, and small.
        set(&mut facts.vision, "intermediate_size", (1536.0 * ratio).round_ties_even() as u64);
    }
    // Where the repository does not say.
    let (mean, std) =
        (json!([0.48145466, 0.4578275, 0.40821073]), json!([0.26862954, 0.26130258, 0.27577711]));
    set_default(&mut facts.processor, "image_mean", mean);
    set_default(&mut facts.processor, "image_std", std);
    Ok(())
}
