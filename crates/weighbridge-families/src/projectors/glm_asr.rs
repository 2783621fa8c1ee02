//! GLM-ASR: Whisper, an adapter, and embeddings for where sound begins and ends.

use super::projector::*;
use super::rows::Part;
use crate::view::View;

pub(super) const GLM_ASR: Projector = Projector {
    shown: "glm_asr",
    classes: &["GlmasrModel"],
    audio: "/whisper_config",
    starts: &[
        ("audio_encoder.whisper.", "audio."),
        ("audio_encoder.layer_norm.", "mm.ln_pre."),
        ("audio_encoder.adapting.layer_norm.", "mm.ln_pre."),
        ("audio_encoder.adapting.0.", "mm.linear_1."),
        ("audio_encoder.adapting.2.", "mm.linear_2."),
        ("audio_encoder.", "audio."),
    ],
    rows: &[
        WHISPER,
        AUDIO_PROJECTION,
        &[("audio.audio_bos_eos_token.weight", &["v.boi", "v.eoi"], Own(rows))],
    ],
    keys: &[
        AUDIO,
        &[("projector_type", Text, Says("glma"))],
        WHISPER_KEYS,
        &[(STACK, Count, Whole(&["merge_factor"]))],
    ],
    assumes: &[("audio.activation_function", &["gelu"], "computes `gelu`")],
    needs: &[
        "a.conv1d.1.weight",
        "a.conv1d.2.weight",
        "a.position_embd.weight",
        "mm.a.mlp.1.weight",
        "mm.a.mlp.2.weight",
        "v.boi",
        "v.eoi",
    ],
    ..super::ultravox::ULTRAVOX
};

/// A vector of each row.
fn rows(_: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let &[2, width] = shape else { return None };
    let row = |row| Part::whole(&[width], View::part(&[width], row));
    Some(vec![row(0), row(1).in_tensor(1)])
}
