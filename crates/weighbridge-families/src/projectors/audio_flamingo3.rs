//! Audio Flamingo 3: Whisper, and two layers.

use super::projector::*;

pub(super) const AUDIO_FLAMINGO3: Projector = Projector {
    shown: "audio_flamingo3",
    classes: &["AudioFlamingo3ForConditionalGeneration"],
    defaults: whisper_defaults!("4096"),
    forced: &[("a.conv1d.#.weight", Forced::Single)],
    keys: &[AUDIO, &[("projector_type", Text, Says("musicflamingo"))], WHISPER_KEYS],
    assumes: super::voxtral::VOXTRAL.assumes,
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
