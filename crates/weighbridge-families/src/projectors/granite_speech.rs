//! Granite Speech: a conformer, and a Q-Former over windows.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const GRANITE_SPEECH: Projector = Projector {
    shown: "granite_speech",
    classes: &["GraniteSpeechForConditionalGeneration"],
    defaults: r#"{"downsample_rate": 5, "window_size": 15, "projector_config": {"num_attention_heads": 12},
        "encoder_config": {"input_dim": 160, "num_layers": 10, "hidden_dim": 1024, "feedforward_mult": 4, "num_heads": 8,
            "context_size": 200, "max_pos_emb": 512, "conv_kernel_size": 15}}"#,
    vision: "",
    audio: "/encoder_config",
    settle,
    starts: &[("encoder.", "audio."), ("projector.", "projector.")],
    left_out: &[
        ("encoder.layers.#.conv.batch_norm.num_batches_tracked", "a count of training"),
        ("encoder.attention_dists", "distances, counted from 0"),
    ],
    rows: &[
        // Before rows of modules.
        &[("audio.layers.#.attn.rel_pos_emb.weight", &["a.blk.#.attn_rel_pos_emb"], Plain)],
        GRANITE_LAYERS,
        qformer_rows!("projector.", "a"),
        &[
            ("audio.input_linear", &["a.input_projection"], Plain),
            ("audio.out", &["a.enc_ctc_out"], Plain),
            ("audio.out_mid", &["a.enc_ctc_out_mid"], Plain),
            ("projector.query", &["a.proj_query"], Plain),
            ("projector.qformer.layernorm", &["a.proj_norm"], Plain),
            ("projector.linear", &["a.proj_linear"], Plain),
        ],
    ],
    ends: BATCH_NORM_ENDS,
    forced: &[("a.blk.#.conv_*", Forced::Single)],
    keys: &[AUDIO, GRANITE_SPEECH_KEYS],
    needs: &[
        "a.input_projection.weight",
        "a.enc_ctc_out.weight",
        "a.enc_ctc_out_mid.weight",
        "a.proj_query",
        "a.proj_norm.weight",
        "a.proj_linear.weight",
    ],
    ..PROJECTOR
};

const GRANITE_LAYERS: &[Row] = &[
    ("audio.layers.#.ff1.pre_norm", &["a.blk.#.ffn_norm"], Plain),
    ("audio.layers.#.ff1.up_proj", &["a.blk.#.ffn_up"], Plain),
    ("audio.layers.#.ff1.down_proj", &["a.blk.#.ffn_down"], Plain),
    ("audio.layers.#.attn.pre_norm", &["a.blk.#.ln1"], Plain),
    ("audio.layers.#.attn.to_q", &["a.blk.#.attn_q"], Plain),
    ("audio.layers.#.attn.to_kv", &["a.blk.#.attn_k", "a.blk.#.attn_v"], Split),
    ("audio.layers.#.attn.to_out", &["a.blk.#.attn_out"], Plain),
    ("audio.layers.#.conv.norm", &["a.blk.#.norm_conv"], Plain),
    ("audio.layers.#.conv.up_conv", &["a.blk.#.conv_pw1"], Squeezed),
    ("audio.layers.#.conv.depth_conv.conv", &["a.blk.#.conv_dw"], Squeezed),
    ("audio.layers.#.conv.batch_norm", &["a.blk.#.conv_norm"], Folded),
    ("audio.layers.#.conv.down_conv", &["a.blk.#.conv_pw2"], Squeezed),
    ("audio.layers.#.ff2.pre_norm", &["a.blk.#.ffn_norm_1"], Plain),
    ("audio.layers.#.ff2.up_proj", &["a.blk.#.ffn_up_1"], Plain),
    ("audio.layers.#.ff2.down_proj", &["a.blk.#.ffn_down_1"], Plain),
    ("audio.layers.#.post_norm", &["a.blk.#.ln2"], Plain),
];

pub(super) const GRANITE_SPEECH_KEYS: &[KeyRow] = &[
    ("projector_type", Text, Says("granite_speech")),
    ("audio.num_mel_bins", Count, Audio(&["input_dim"])),
    (AUDIO_EPSILON, Number, Is(1e-5)),
    ("audio.chunk_size", Count, Audio(&["context_size"])),
    ("audio.conv_kernel_size", Count, Audio(&["conv_kernel_size"])),
    ("audio.max_pos_emb", Count, Audio(&["max_pos_emb"])),
    ("audio.projector.window_size", Count, Whole(&["window_size"])),
    ("audio.projector.downsample_rate", Count, Whole(&["downsample_rate"])),
    ("audio.projector.head_count", Count, Made(projector_heads)),
];

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    for (own, usual) in [
        ("num_mel_bins", "input_dim"),
        ("hidden_dim", "hidden_size"),
        ("num_heads", "num_attention_heads"),
        ("num_layers", "num_hidden_layers"),
    ] {
        rename(&mut facts.audio, own, usual);
    }
    let width = needed(&facts.audio, "hidden_dim")?;
    let inner = width.checked_mul(needed(&facts.audio, "feedforward_mult")?);
    set(&mut facts.audio, "intermediate_size", inner);
    Ok(())
}

fn projector_heads(facts: &Facts<'_>) -> Result<Option<Json>> {
    needed(&facts.config["projector_config"], "num_attention_heads").map(|heads| Some(heads.into()))
}
