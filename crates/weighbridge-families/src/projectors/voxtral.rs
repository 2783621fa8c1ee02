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
    needs: &[
        "a.conv1d.1.weight",
        "a.conv1d.2.weight",
        "a.position_embd.weight",
        "a.post_ln.weight",
        "mm.a.mlp.1.weight",
        "mm.a.mlp.2.weight",
    ],
    ..super::ultravox::ULTRAVOX
};
