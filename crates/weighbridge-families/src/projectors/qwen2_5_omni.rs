//! Qwen 2.5 Omni: the encoder of Qwen 2.5-VL, and Whisper without its positions.

use super::projector::*;
use super::qwen2_5_vl::windows;

pub(super) const QWEN2_5_OMNI: Projector = Projector {
    shown: "qwen2_5_omni",
    classes: &["Qwen2_5OmniModel"],
    defaults: r#"{"thinker_config": {
        "vision_config": {"depth": 32, "hidden_size": 3584, "intermediate_size": 3420, "num_heads": 16,
        "patch_size": 14, "fullatt_block_indexes": [7, 15, 23, 31]},
        "audio_config": {"d_model": 1280, "encoder_ffn_dim": 5120, "encoder_layers": 32,
        "encoder_attention_heads": 20, "num_mel_bins": 128},
        "text_config": {"hidden_size": 3584}}}"#,
    vision: "/thinker_config/vision_config",
    audio: "/thinker_config/audio_config",
    settle: |facts| {
        qwen_names(facts);
        whisper_names(facts)
    },
    starts: OMNI_STARTS,
    left_out: &[
        ("audio_tower.audio_bos_eos_token.", UNUSED),
        ("thinker.audio_tower.audio_bos_eos_token.", UNUSED),
    ],
    rows: &[
        QWEN_BLOCKS,
        SPLIT_QKV,
        QWEN_MERGER,
        TWO_PATCHES,
        WHISPER,
        &[
            ("visual.blocks.#.attn.q", &["v.blk.#.attn_q"], Plain),
            ("visual.blocks.#.attn.k", &["v.blk.#.attn_k"], Plain),
            ("visual.blocks.#.attn.v", &["v.blk.#.attn_v"], Plain),
            ("audio.ln_post", &["a.post_ln"], Plain),
            ("audio.proj", &["mm.a.fc"], Plain),
        ],
    ],
    forced: OMNI_FORCED,
    computed: sinusoids,
    keys: &[
        VISION,
        AUDIO,
        WHISPER_KEYS,
        &[
            ("projector_type", Text, Says("qwen2.5o")),
            SILU,
            ("vision.n_wa_pattern", Count, Made(windows)),
            (EPSILON, Number, Is(1e-6)),
        ],
    ],
    assumes: &[
        THETA,
        MERGES_TWO,
        ("vision.window_size", &["112"], "has windows of 112 pixels"),
        ("vision.hidden_act", &["silu"], "computes silu"),
        ("audio.activation_function", &["gelu"], "computes `gelu`"),
    ],
    needs: &[
        "v.patch_embd.weight",
        "v.patch_embd.weight.1",
        "v.post_ln.weight",
        "mm.0.weight",
        "mm.0.bias",
        "mm.2.weight",
        "mm.2.bias",
        "a.conv1d.1.weight",
        "a.conv1d.1.bias",
        "a.conv1d.2.weight",
        "a.conv1d.2.bias",
        "a.position_embd.weight",
        "a.post_ln.weight",
        "mm.a.fc.weight",
        "mm.a.fc.bias",
    ],
    has_width: true,
    ..PROJECTOR
};

const UNUSED: &str = "not used by the model";
