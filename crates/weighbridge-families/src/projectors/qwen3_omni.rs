//! Qwen 3 Omni: the encoder of Qwen 3-VL, and one of sound whose first layers see time and pitch.

use super::projector::*;
use super::qwen3_vl::QWEN3_KEYS;

pub(super) const QWEN3_OMNI: Projector = Projector {
    shown: "qwen3_omni",
    classes: &["Qwen3OmniMoeForConditionalGeneration"],
    defaults: r#"{"thinker_config": {
        "vision_config": {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16,
        "patch_size": 16, "spatial_merge_size": 2, "num_position_embeddings": 2304,
        "deepstack_visual_indexes": [8, 16, 24]},
        "audio_config": {"d_model": 1280, "encoder_ffn_dim": 5120, "encoder_layers": 32,
        "encoder_attention_heads": 20, "num_mel_bins": 128},
        "text_config": {"hidden_size": 2048, "rms_norm_eps": 1e-6}}}"#,
    vision: "/thinker_config/vision_config",
    audio: "/thinker_config/audio_config",
    settle: |facts| {
        size_of_positions(facts)?;
        qwen_names(facts);
        whisper_names(facts)
    },
    starts: OMNI_STARTS,
    rename,
    rows: &[QWEN_BLOCKS, ONE_QKV, QWEN3_MERGER, QWEN_MERGER, TWO_PATCHES, QWEN3_SOUND, WHISPER],
    forced: OMNI_FORCED,
    computed: sinusoids,
    keys: &[
        VISION,
        AUDIO,
        WHISPER_KEYS,
        QWEN3_KEYS,
        &[
            ("vision.projector_type", Text, Says("qwen3vl_merger")),
            ("audio.projector_type", Text, Says("qwen3a")),
        ],
    ],
    assumes: &[
        THETA,
        HUNDRED_FRAMES,
        ("vision.hidden_act", GELUS, "computes gelu"),
        ("audio.activation_function", &["gelu"], "computes `gelu`"),
    ],
    needs: &[
        "v.patch_embd.weight",
        "v.patch_embd.weight.1",
        "v.position_embd.weight",
        "v.post_ln.weight",
        "mm.0.weight",
        "mm.0.bias",
        "mm.2.weight",
        "mm.2.bias",
        "a.conv2d.1.weight",
        "a.conv2d.1.bias",
        "a.conv2d.2.weight",
        "a.conv2d.2.bias",
        "a.conv2d.3.weight",
        "a.conv2d.3.bias",
        "a.conv_out.weight",
        "a.post_ln.weight",
        "mm.a.mlp.1.weight",
        "mm.a.mlp.1.bias",
        "mm.a.mlp.2.weight",
        "mm.a.mlp.2.bias",
    ],
    has_width: true,
    ..PROJECTOR
};

/// Convolutions over time and pitch, and the end of the encoder.
pub(super) const QWEN3_SOUND: &[Row] = &[
    ("audio.conv2d1.bias", &["a.conv2d.1.bias"], Behind(2)),
    ("audio.conv2d2.bias", &["a.conv2d.2.bias"], Behind(2)),
    ("audio.conv2d3.bias", &["a.conv2d.3.bias"], Behind(2)),
    ("audio.conv2d1", &["a.conv2d.1"], Plain),
    ("audio.conv2d2", &["a.conv2d.2"], Plain),
    ("audio.conv2d3", &["a.conv2d.3"], Plain),
    ("audio.conv_out", &["a.conv_out"], Plain),
    ("audio.ln_post", &["a.post_ln"], Plain),
    ("audio.proj1", &["mm.a.mlp.1"], Plain),
    ("audio.proj2", &["mm.a.mlp.2"], Plain),
];

/// What follows a layer is called as in Qwen 2-VL.
fn rename(facts: &Facts<'_>, name: &str) -> Result<Option<String>> {
    let renamed = |name: String| {
        let name = name.replace(".ln_q.", ".norm.");
        name.replace(".mlp.0.", ".linear_fc1.").replace(".mlp.2.", ".linear_fc2.")
    };
    Ok(deepstack_names(facts, name)?.map(renamed))
}
