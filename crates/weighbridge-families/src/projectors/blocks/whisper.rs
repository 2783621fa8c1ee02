//! Audio encoders as Whisper has them, whose names begin with `audio.`.

use crate::error::Result;
use crate::projectors::facts::{Facts, rename};
use crate::projectors::keys::KeyRow;
use crate::projectors::keys::Type::{Count, Number};
use crate::projectors::keys::Where::{Audio, AudioOr};
use crate::projectors::projector::Forced;
use crate::projectors::rows::How::{Behind, Plain};
use crate::projectors::rows::Row;

/// Convolutions, positions and layers.
pub(crate) const WHISPER: &[Row] = &[
    ("audio.conv1.bias", &["a.conv1d.1.bias"], Behind(1)),
    ("audio.conv2.bias", &["a.conv1d.2.bias"], Behind(1)),
    ("audio.conv1", &["a.conv1d.1"], Plain),
    ("audio.conv2", &["a.conv1d.2"], Plain),
    ("audio.embed_positions", &["a.position_embd"], Plain),
    ("audio.layers.#.self_attn.q_proj", &["a.blk.#.attn_q"], Plain),
    ("audio.layers.#.self_attn.k_proj", &["a.blk.#.attn_k"], Plain),
    ("audio.layers.#.self_attn.v_proj", &["a.blk.#.attn_v"], Plain),
    ("audio.layers.#.self_attn.out_proj", &["a.blk.#.attn_out"], Plain),
    ("audio.layers.#.self_attn_layer_norm", &["a.blk.#.ln1"], Plain),
    ("audio.layers.#.final_layer_norm", &["a.blk.#.ln2"], Plain),
    ("audio.layers.#.fc1", &["a.blk.#.ffn_up"], Plain),
    ("audio.layers.#.fc2", &["a.blk.#.ffn_down"], Plain),
    ("audio.layer_norm", &["a.post_ln"], Plain),
];

/// What is behind the encoder, in names that begin with `mm.`.
pub(crate) const AUDIO_PROJECTION: &[Row] = &[
    ("mm.linear_1", &["mm.a.mlp.1"], Plain),
    ("mm.linear_2", &["mm.a.mlp.2"], Plain),
    ("mm.ln_pre", &["mm.a.norm_pre"], Plain),
    ("mm.ln_mid", &["mm.a.norm_mid"], Plain),
];

/// What most such classes call their modules.
pub(crate) const WHISPER_STARTS: &[(&str, &str)] =
    &[("audio_tower.", "audio."), ("multi_modal_projector.", "mm.")];

/// Convolutions are of F16 in any file.
pub(crate) const WHISPER_FORCED: &[(&str, Forced)] = &[("a.conv1d.#.weight", Forced::Half)];

/// Entries behind the projector's type.
pub(crate) const WHISPER_KEYS: &[KeyRow] = &[
    ("audio.num_mel_bins", Count, Audio(&["num_mel_bins"])),
    (super::AUDIO_EPSILON, Number, AudioOr(&["layer_norm_eps"], 1e-5)),
];

/// What transformers fills in for its own classes, as a part of a config.
macro_rules! whisper_defaults {
    ($text:literal) => {
        concat!(
            r#"{"audio_config": {"hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32,
            "num_attention_heads": 20, "num_mel_bins": 128, "activation_function": "gelu"},
            "text_config": {"hidden_size": "#,
            $text,
            "}}"
        )
    };
}
pub(crate) use whisper_defaults;

/// Settings by the names that Whisper has for them.
pub(crate) fn whisper_names(facts: &mut Facts<'_>) -> Result<()> {
    rename(&mut facts.audio, "d_model", "hidden_size");
    rename(&mut facts.audio, "encoder_ffn_dim", "intermediate_size");
    rename(&mut facts.audio, "encoder_attention_heads", "num_attention_heads");
    Ok(())
}
