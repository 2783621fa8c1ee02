//! MERaLiON 2: Whisper, several frames made one, and a gated adapter.

use super::projector::*;

pub(super) const MERALION2: Projector = Projector {
    shown: "meralion2",
    classes: &["MERaLiON2ForConditionalGeneration"],
    audio: "/speech_config",
    starts: &[
        ("speech_encoder.", "audio."),
        ("ln_speech.", "mm.ln_pre."),
        ("speech_audio_adapter.", "mm."),
    ],
    rows: &[
        WHISPER,
        AUDIO_PROJECTION,
        &[
            ("mm.mlp_adapter.#", &["mm.a.mlp.#"], Plain),
            ("mm.gate_proj", &["mm.a.mlp.1"], Plain),
            ("mm.pool_proj", &["mm.a.mlp.2"], Plain),
            ("mm.out_proj", &["mm.a.mlp.3"], Plain),
        ],
    ],
    keys: &[
        AUDIO,
        &[("projector_type", Text, Says("meralion"))],
        WHISPER_KEYS,
        &[(STACK, Count, WholeOr(&["speech_mlp_scale_factor"], 15.0))],
    ],
    assumes: &[("audio.activation_function", &["gelu"], "computes `gelu`")],
    needs: &[
        "a.conv1d.1.weight",
        "a.conv1d.2.weight",
        "a.position_embd.weight",
        "a.post_ln.weight",
        "mm.a.mlp.0.weight",
        "mm.a.mlp.1.weight",
        "mm.a.mlp.2.weight",
        "mm.a.mlp.3.weight",
    ],
    ..super::ultravox::ULTRAVOX
};
