//! MiMo-V2.5: Qwen's encoder of images, and one of sound whose weights have a folder of their own.

use serde_json::Value as Json;

use super::projector::*;
use crate::families::whole;

pub(super) const MIMO_V2: Projector = Projector {
    shown: "mimo_v2",
    classes: &["MiMoV2ForCausalLM"],
    beside: &["audio_tokenizer"],
    settle,
    starts: &[
        ("visual.", "visual."),
        ("audio_tokenizer/encoder.", "audio."),
        ("audio_encoder.input_local_transformer.", "local."),
        ("audio_encoder.projection.mlp.0.", "mm.linear_1."),
        ("audio_encoder.projection.mlp.2.", "mm.linear_2."),
        ("speech_embeddings.", "speech."),
    ],
    left_out: &[
        ("audio_tokenizer/decoder.", "makes sound, which llama.cpp does not"),
        (BOOK_SIZES, TRAINING),
        (BOOK_AVERAGES, TRAINING),
        ("audio_tokenizer/encoder.quantizer.vq.layers.#._codebook.inited", TRAINING),
    ],
    rows: &[QWEN_BLOCKS, ONE_QKV, QWEN_MERGER, TWO_PATCHES, WHISPER, AUDIO_PROJECTION, SOUND],
    forced: &[
        ("a.rvq.codebook.weight", Forced::Single),
        ("mm.a.code_embd.weight", Forced::Single),
        ("a.conv1d.#.weight", Forced::Single),
        ("a.downsample.conv.weight", Forced::Single),
    ],
    keys: &[
        VISION,
        AUDIO,
        &[
            ("vision.projector_type", Text, Says("mimovl")),
            SILU,
            ("vision.attention.head_count_kv", Count, VisionOr(&["num_key_value_heads"], 8.0)),
            (MERGE, Count, Vision(&["spatial_merge_size"])),
            ("vision.window_size", Count, Vision(&["visual_token_window_size"])),
            ("vision.wa_pattern_mode", Counts, Vision(&["vit_window_attn_types"])),
            (EPSILON, Number, VisionOr(&["rms_norm_eps"], 1e-6)),
            (MIN_PIXELS, Count, Processor(&["min_pixels"])),
            (MAX_PIXELS, Count, Processor(&["max_pixels"])),
            ("audio.projector_type", Text, Says("mimo_audio")),
            ("audio.num_mel_bins", Count, Audio(&["n_mels"])),
            (AUDIO_EPSILON, Number, AudioOr(&["layer_norm_eps"], 1e-5)),
            ("audio.rvq.num_quantizers", Count, Made(|facts| Ok(Some(books(facts).len().into())))),
            ("audio.rvq.codebook_size", Counts, Made(|facts| Ok(Some(books(facts).into())))),
            ("audio.wa_pattern_mode", Counts, Made(windows)),
            ("audio.window_size", Count, Made(window)),
            ("audio.local_block_count", Count, Made(|facts| heard(facts, "input_local_layers"))),
            ("audio.local_group_size", Count, Made(|facts| heard(facts, "group_size"))),
        ],
    ],
    needs: &[
        "v.patch_embd.weight",
        "v.patch_embd.weight.1",
        "v.post_ln.weight",
        "mm.0.weight",
        "mm.2.weight",
        "a.conv1d.1.weight",
        "a.conv1d.2.weight",
        "a.post_ln.weight",
        "a.downsample.conv.weight",
        "a.rvq.codebook.weight",
        "mm.a.code_embd.weight",
        "mm.a.mlp.1.weight",
        "mm.a.mlp.2.weight",
        "mm.a.local_norm.weight",
    ],
    ..PROJECTOR
};

const TRAINING: &str = "used in training only";
const BOOK_SIZES: &str = "audio_tokenizer/encoder.quantizer.vq.layers.#._codebook.cluster_size";
const BOOK_AVERAGES: &str = "audio_tokenizer/encoder.quantizer.vq.layers.#._codebook.embed_avg";

const SOUND: &[Row] = &[
    ("visual.blocks.#.attn.sinks", &["v.blk.#.attn_sinks"], Plain),
    ("audio.down_sample_layer.#", &["a.downsample.conv"], Plain),
    ("audio.down_sample_norm", &["a.downsample.norm"], Plain),
    ("audio.quantizer.vq.layers.#._codebook.embed", &["a.rvq.codebook.weight"], Padded),
    ("speech.#", &["mm.a.code_embd"], Stacked),
    ("local.layers.#.self_attn.q_proj", &["mm.a.local_blk.#.attn_q"], Plain),
    ("local.layers.#.self_attn.k_proj", &["mm.a.local_blk.#.attn_k"], Plain),
    ("local.layers.#.self_attn.v_proj", &["mm.a.local_blk.#.attn_v"], Plain),
    ("local.layers.#.self_attn.o_proj", &["mm.a.local_blk.#.attn_out"], Plain),
    ("local.layers.#.mlp.gate_proj", &["mm.a.local_blk.#.ffn_gate"], Plain),
    ("local.layers.#.mlp.up_proj", &["mm.a.local_blk.#.ffn_up"], Plain),
    ("local.layers.#.mlp.down_proj", &["mm.a.local_blk.#.ffn_down"], Plain),
    ("local.layers.#.input_layernorm", &["mm.a.local_blk.#.ln1"], Plain),
    ("local.layers.#.post_attention_layernorm", &["mm.a.local_blk.#.ln2"], Plain),
    ("local.norm", &["mm.a.local_norm"], Plain),
];

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    set_default(&mut facts.vision, "image_size", 560);
    for (own, usual, other) in
        [("num_heads", "num_attention_heads", 32), ("depth", "num_hidden_layers", 28)]
    {
        let value = count(&facts.vision, own).unwrap_or(other);
        set(&mut facts.vision, usual, value);
    }
    let audio = facts.document("audio_tokenizer/config.json")?;
    facts.audio = audio.ok_or_else(|| odd("audio_tokenizer/config.json", None))?;
    whisper_names(facts)
}

/// How many entries each codebook has.
fn books(facts: &Facts<'_>) -> Vec<u64> {
    let of = |book: u64| {
        let name = format!("audio_tokenizer/encoder.quantizer.vq.layers.{book}._codebook.embed");
        facts.shape_of(&name)?.first().copied()
    };
    (0..).map_while(of).collect()
}

/// Layers that see a window (0), and those that see everything (-1).
fn windows(facts: &Facts<'_>) -> Result<Option<Json>> {
    let layers = needed(&facts.audio, "encoder_layers")?;
    let period = count(&facts.audio, "swa_per_block").unwrap_or(1);
    let is_hybrid = facts.audio["hybrid_attention"].as_bool() == Some(true) && period > 1;
    let sees = |layer: u64| if is_hybrid && layer % period < period - 1 { 0 } else { -1 };
    Ok(Some((0..layers).map(sees).collect()))
}

fn window(facts: &Facts<'_>) -> Result<Option<Json>> {
    const KEY: &str = "encoder_attn_window_size";
    let stated = facts.audio.get(KEY);
    let first = stated.and_then(|sides| sides.get(0)).and_then(whole);
    first.map(|side| Some(side.into())).ok_or_else(|| odd(KEY, stated))
}

fn heard(facts: &Facts<'_>, key: &str) -> Result<Option<Json>> {
    needed(&facts.config["audio_config"], key).map(|value| Some(value.into()))
}
