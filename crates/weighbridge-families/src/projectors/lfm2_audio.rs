//! LFM2-Audio: a conformer, and an adapter.

use super::projector::*;

pub(super) const LFM2_AUDIO: Projector = Projector {
    shown: "lfm2_audio",
    classes: &["Lfm2AudioForConditionalGeneration"],
    vision: "",
    audio: "/encoder",
    settle,
    starts: &[
        ("conformer.", "audio."),
        ("audio_adapter.model.", "mm."),
        ("audio_embedding.", "audio_embedding."),
    ],
    left_out: &[
        ("audio_loss_weight", "used in training only"),
        ("codebook_offsets", SOUND),
        ("depth_embeddings.", SOUND),
        ("depth_linear.", SOUND),
        ("depthformer.", SOUND),
    ],
    rows: &[
        CONFORMER_LAYERS,
        &[
            ("audio.pre_encode.conv.#.bias", &["a.conv1d.#.bias"], Behind(2)),
            ("audio.pre_encode.conv.#", &["a.conv1d.#"], Plain),
            ("audio.pre_encode.out", &["a.pre_encode.out"], Plain),
            ("audio_embedding.embedding", &["a.position_embd"], Plain),
            ("audio_embedding.embedding_norm", &["a.position_embd_norm"], Plain),
            ("audio_embedding.to_logits", &["a.embd_to_logits"], Plain),
            ("mm.#", &["mm.a.mlp.#"], Plain),
        ],
    ],
    ends: BATCH_NORM_ENDS,
    forced: &[("a.conv1d.*", Forced::Single), ("a.blk.#.conv_*", Forced::Single)],
    keys: &[
        AUDIO,
        &[
            ("projector_type", Text, Says("lfm2a")),
            ("audio.num_mel_bins", Count, Audio(&["feat_in"])),
            (AUDIO_EPSILON, Number, Is(1e-5)),
        ],
    ],
    needs: &[
        "a.conv1d.0.weight",
        "a.conv1d.2.weight",
        "a.conv1d.3.weight",
        "a.conv1d.5.weight",
        "a.conv1d.6.weight",
        "a.embd_to_logits.weight",
        "a.position_embd.weight",
        "a.pre_encode.out.weight",
        "mm.a.mlp.0.weight",
        "mm.a.mlp.1.weight",
        "mm.a.mlp.3.weight",
    ],
    ..PROJECTOR
};

const SOUND: &str = "makes sound, which llama.cpp does not";

/// llama.cpp has an entry for the width of feed-forward layers, but takes it from weights.
fn settle(facts: &mut Facts<'_>) -> Result<()> {
    rename(&mut facts.audio, "d_model", "hidden_size");
    rename(&mut facts.audio, "d_model", "intermediate_size");
    rename(&mut facts.audio, "n_heads", "num_attention_heads");
    Ok(())
}
