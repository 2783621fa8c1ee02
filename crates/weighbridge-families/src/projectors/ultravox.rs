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
    ..PROJECTOR
};
