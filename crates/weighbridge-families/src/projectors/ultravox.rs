//! Ultravox: Whisper, several frames made one, and a gated layer.

use super::projector::*;

pub(super) const ULTRAVOX: Projector = Projector {
    shown: "ultravox",
    classes: &["UltravoxModel"],
    vision: "",
    audio: "/audio_config",
    settle: whisper_names,
    starts: WHISPER_STARTS,
    rows: &[WHISPER, AUDIO_PROJECTION],
    forced: WHISPER_FORCED,
    keys: &[
        AUDIO,
        &[("projector_type", Text, Says("ultravox"))],
        WHISPER_KEYS,
        &[(STACK, Count, Whole(&["stack_factor"]))],
    ],
    assumes: &[
        ("audio.activation_function", &["gelu"], "computes `gelu`"),
        ("projector_act", &["swiglu"], "computes `swiglu`"),
    ],
    needs: &[
        "a.conv1d.1.weight",
        "a.conv1d.2.weight",
        "a.position_embd.weight",
        "a.post_ln.weight",
        "mm.a.mlp.1.weight",
        "mm.a.mlp.2.weight",
    ],
    ..PROJECTOR
};
