//! Gemma 4 without encoders: patches of images and of sound go to the language model almost as they are.

use super::gemma4::GEMMA_PARTS;
use super::projector::*;
use crate::view::{Rows, View};

pub(super) const GEMMA4_UNIFIED: Projector = Projector {
    shown: "gemma4_unified",
    classes: &["Gemma4UnifiedForConditionalGeneration"],
    defaults: r#"{"vision_config": {"patch_size": 16, "pooling_kernel_size": 3, "mm_embed_dim": 3840}}"#,
    audio: "/audio_config",
    settle,
    starts: GEMMA_PARTS,
    rows: &[&[
        ("embed_audio.embedding_projection", &["mm.a.input_projection"], Plain),
        ("embed_vision.embedding_projection", &["mm.input_projection"], Plain),
        ("vision.patch_dense.weight", &["v.patch_embd.weight"], PATCHES),
        ("vision.patch_dense", &["v.patch_embd"], Plain),
        ("vision.patch_ln1", &["v.patch_norm.1"], PATCHES),
        ("vision.patch_ln2", &["v.patch_norm.2"], Plain),
        ("vision.pos_norm", &["v.patch_norm.3"], Plain),
        ("vision.pos_embedding", &["v.position_embd.weight"], Own(positions)),
    ]],
    keys: &[
        VISION,
        AUDIO,
        &[
            ("vision.projector_type", Text, Says("gemma4uv")),
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
            ("audio.projector_type", Text, Says("gemma4ua")),
            ("audio.num_mel_bins", Count, AudioOr(&["input_feat_size"], 128.0)),
            (AUDIO_EPSILON, Number, AudioOr(&["layer_norm_eps"], 1e-6)),
        ],
    ],
    assumes: &[
        ("vision.pooling_kernel_size", &["3"], "takes 3 by 3 patches for one"),
        ("vision.rms_norm_eps", &["1e-6"], "computes norms with 1e-6"),
        ("audio.rms_norm_eps", &["1e-6"], "computes norms with 1e-6"),
        ("audio.audio_embed_dim", &["640"], "takes 640 samples for one"),
    ],
    needs: &[
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.patch_norm.1.weight",
        "v.patch_norm.1.bias",
        "v.patch_norm.2.weight",
        "v.patch_norm.2.bias",
        "v.patch_norm.3.weight",
        "v.patch_norm.3.bias",
        "mm.input_projection.weight",
        "mm.a.input_projection.weight",
    ],
    ..PROJECTOR
};

/// Pixels in rows, or in a vector, that become colour by colour.
const PATCHES: How = Own(|facts, shape| {
    let (columns, outer) = shape.split_last()?;
    let pixels = side(facts)?.checked_pow(2)?;
    let view = colours(outer.iter().product(), pixels)?;
    (pixels.checked_mul(3)? == *columns).then(|| vec![Part::whole(shape, view)])
});

/// Of each position, what stands for its column and what for its row: all columns come first.
fn positions(_: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let &[positions, 2, width] = shape else { return None };
    let seen = [2, positions, width];
    let rows = Rows::Tiled { start: 0, groups: positions, members: 2, run: 1 };
    Some(vec![Part::whole(&seen, View { rows, ..View::whole(&seen) })])
}

/// How many pixels wide a patch is.
fn side(facts: &Facts<'_>) -> Option<u64> {
    let key = |key| count(&facts.vision, key);
    key("model_patch_size").or_else(|| key("patch_size")?.checked_mul(key("pooling_kernel_size")?))
}

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    let width = needed(&facts.vision, "mm_embed_dim")?;
    if facts.audio.is_null() {
        return Err(odd("audio_config", facts.config.get("audio_config")));
    }
    let audio_width = count(&facts.audio, "audio_embed_dim").unwrap_or(640);
    set(&mut facts.vision, "image_size", 224);
    for (encoder, width) in [(&mut facts.vision, width), (&mut facts.audio, audio_width)] {
        set(encoder, "hidden_size", width);
        for key in ["intermediate_size", "num_layers", "num_attention_heads"] {
            set(encoder, key, 0);
        }
    }
    Ok(())
}
