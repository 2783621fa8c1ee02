//! Voxtral: Whisper, and four frames made one.

use super::projector::*;

pub(super) const VOXTRAL: Projector = Projector {
    shown: "voxtral",
    classes: &["VoxtralForConditionalGeneration"],
    defaults: whisper_defaults!("3072"),
    keys: &[
        AUDIO,
        &[("projector_type", Text, Says("voxtral"))],
        WHISPER_KEYS,
        &[(STACK, Count, Is(4.0))],
    ],
    assumes: &[
        ("audio.activation_function", &["gelu"], "computes `gelu`"),
        ("projector_hidden_act", &["gelu"], "computes `gelu`"),
    ],
    ..super::ultravox::ULTRAVOX
};
