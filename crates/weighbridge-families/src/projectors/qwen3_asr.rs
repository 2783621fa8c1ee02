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
    assumes: &[HUNDRED_FRAMES, ("audio.activation_function", &["gelu"], "computes `gelu`")],
    needs: &[
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
    ..QWEN3_OMNI
};
