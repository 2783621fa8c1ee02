//! Nemotron Nano VL: RADIO, with or without a conformer for sound.

use serde_json::{Value as Json, json};

use super::projector::*;

pub(super) const NEMOTRON_VL: Projector = Projector {
    shown: "nemotron_vl",
    classes: &["NemotronH_Nano_VL_V2", "RADIOModel"],
    audio: "/sound_config",
    settle,
    starts: &[
        ("vision_model.radio_model.model.", "vision."),
        ("mlp1.", "mm."),
        ("sound_encoder.encoder.", "audio."),
        ("sound_projection.", "mm.a."),
    ],
    left_out: &[
        ("vision_model.radio_model.input_conditioner.", "done when images are prepared"),
        (
            "vision_model.radio_model.model.patch_generator.video_embedder.",
            "for video, which llama.cpp does not see",
        ),
        ("sound_encoder.encoder.layers.#.conv.norm.num_batches_tracked", "a count of training"),
    ],
    rows: &[IMAGES, PARAKEET],
    forced: &[("a.conv1d.#.weight", Forced::Single), ("a.blk.#.conv_*", Forced::Single)],
    keys: &[
        &[
            ("audio.num_mel_bins", Count, Made(|facts| sound(facts, &["num_mel_bins"]))),
            (AUDIO_EPSILON, Number, Made(|facts| if_sound(facts, 1e-5))),
            (
                "audio.subsampling_factor",
                Count,
                Made(|facts| sound(facts, &["subsampling_factor"])),
            ),
            ("audio.conv_kernel_size", Count, Made(|facts| sound(facts, &["conv_kernel_size"]))),
            ("audio.projector_type", Text, Made(|facts| if_sound(facts, "parakeet"))),
            ("vision.projector_type", Text, Made(|facts| if_sound(facts, TYPE))),
            (
                "projector_type",
                Text,
                Made(|facts| Ok(facts.audio.is_null().then_some(TYPE.into()))),
            ),
        ],
        VISION,
        &[
            ("has_audio_encoder", Flag, Made(|facts| if_sound(facts, true))),
            (
                "audio.projection_dim",
                Count,
                Made(|facts| Ok(facts.text_width().filter(|_| !facts.audio.is_null()))),
            ),
            ("audio.embedding_length", Count, Made(|facts| sound(facts, &["hidden_size"]))),
            (
                "audio.feed_forward_length",
                Count,
                Made(|facts| sound(facts, &["intermediate_size"])),
            ),
            ("audio.block_count", Count, Made(|facts| sound(facts, DEPTH))),
            (
                "audio.attention.head_count",
                Count,
                Made(|facts| sound(facts, &["num_attention_heads"])),
            ),
            (EPSILON, Number, Is(1e-6)),
            GELU,
            (SCALE, Count, Made(scale)),
        ],
    ],
    needs: &[
        "v.class_embd",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "mm.model.mlp.0.weight",
        "mm.model.mlp.1.weight",
        "mm.model.mlp.3.weight",
        "a.pre_encode.out.weight",
        "mm.a.norm_pre.weight",
        "mm.a.mlp.1.weight",
        "mm.a.mlp.2.weight",
    ],
    ..PROJECTOR
};

const TYPE: &str = "nemotron_v2_vl";

const IMAGES: &[Row] = &[
    ("vision.patch_generator.cls_token.token", &["v.class_embd"], Plain),
    ("vision.patch_generator.embedder.weight", &["v.patch_embd.weight"], Own(kernel)),
    ("vision.patch_generator.pos_embed", &["v.position_embd.weight"], Read(positions)),
    ("vision.blocks.#.norm1", &["v.blk.#.ln1"], Plain),
    ("vision.blocks.#.norm2", &["v.blk.#.ln2"], Plain),
    ("vision.blocks.#.attn.qkv", &["v.blk.#.attn_qkv"], Plain),
    ("vision.blocks.#.attn.proj", &["v.blk.#.attn_out"], Plain),
    ("vision.blocks.#.mlp.fc1", &["v.blk.#.ffn_up"], Plain),
    ("vision.blocks.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
    ("mm.#", &["mm.model.mlp.#"], Plain),
];

/// What the converter says of every such encoder: it is ViT-H.
const VIT_H: [(&str, u64); 4] = [
    ("hidden_size", 1280),
    ("intermediate_size", 5120),
    ("num_hidden_layers", 32),
    ("num_attention_heads", 16),
];

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    for (key, value) in VIT_H {
        set(&mut facts.vision, key, value);
    }
    let size = count(&facts.config, "force_image_size").unwrap_or(512);
    set(&mut facts.vision, "image_size", size);
    // Where the repository does not say.
    set_default(&mut facts.processor, "image_mean", json!([0.485, 0.456, 0.406]));
    set_default(&mut facts.processor, "image_std", json!([0.229, 0.224, 0.225]));
    Ok(())
}

fn if_sound(facts: &Facts<'_>, value: impl Into<Json>) -> Result<Option<Json>> {
    Ok((!facts.audio.is_null()).then(|| value.into()))
}

fn sound(facts: &Facts<'_>, keys: &[&str]) -> Result<Option<Json>> {
    match first(&facts.audio, keys) {
        None if !facts.audio.is_null() => Err(odd(keys[0], None)),
        value => Ok(value),
    }
}

/// How many patches a side become one.
fn scale(facts: &Facts<'_>) -> Result<Option<Json>> {
    match facts.config.get("downsample_ratio") {
        Some(_) => whole_inverse(&facts.config, "downsample_ratio").map(Some),
        None => Ok(Some(2.into())),
    }
}

/// Positions of a square of patches, for a square that fits the images.
fn positions(facts: &Facts<'_>, shape: &[u64], numbers: &[f32]) -> Option<(Vec<u64>, Vec<f32>)> {
    let &[1, all, width] = shape else { return None };
    let image = count(&facts.vision, "image_size")?;
    let wanted = image.checked_div(count(&facts.vision, "patch_size")?)?;
    let side = all.isqrt();
    let sides = [usize::try_from(side).ok()?, usize::try_from(wanted).ok()?];
    (side * side == all && wanted > 0).then(|| {
        let width = usize::try_from(width).unwrap_or_default();
        (vec![1, wanted * wanted, shape[2]], resized(numbers, sides, width))
    })
}
