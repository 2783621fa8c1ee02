//! Qwen 2 Audio: Whisper, whose output is halved, and one matrix.

use super::projector::*;

pub(super) const QWEN2_AUDIO: Projector = Projector {
    shown: "qwen2_audio",
    classes: &["Qwen2AudioForConditionalGeneration"],
    defaults: r#"{"audio_config": {"d_model": 1280, "encoder_ffn_dim": 5120, "encoder_layers": 32,
        "encoder_attention_heads": 20, "num_mel_bins": 128}, "text_config": {"hidden_size": 4096}}"#,
    rows: &[WHISPER, &[("mm.linear", &["mm.a.fc"], Plain)]],
    keys: &[AUDIO, &[("projector_type", Text, Says("qwen2a"))], WHISPER_KEYS],
    assumes: &[("audio.activation_function", &["gelu"], "computes `gelu`")],
    needs: &[
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
    ..super::ultravox::ULTRAVOX
};
