//! Qwen 3 ASR: the encoder of sound of Qwen 3 Omni.

use super::projector::*;
use super::qwen3_omni::{QWEN3_OMNI, QWEN3_SOUND};

pub(super) const QWEN3_ASR: Projector = Projector {
    shown: "qwen3_asr",
    classes: &["Qwen3ASRForConditionalGeneration"],
    defaults: "{}",
    vision: "",
    settle: whisper_names,
    rename: |_, _| Ok(None),
    rows: &[QWEN3_SOUND, WHISPER],
    keys: &[AUDIO, WHISPER_KEYS, &[("audio.projector_type", Text, Says("qwen3a"))]],
    assumes: &[("audio.activation_function", &["gelu"], "computes `gelu`")],
    ..QWEN3_OMNI
};
