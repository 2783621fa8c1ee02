//! dots3 note: an encoder of images with experts in some layers, and one of sound.

use serde_json::Value as Json;

use super::projector::*;
use crate::families::whole;

pub(super) const DOTS3_NOTE: Projector = Projector {
    shown: "dots3_note",
    classes: &["Dots3NoteForCausalLM", "Dots3NoteForConditionalGeneration"],
    audio: "/audio_config",
    settle,
    starts: &[
        ("vision_encoder.", "vision."),
        ("audio_encoder.dots_encoder.speech_encoder.", "audio."),
        ("audio_encoder.audio_adapter.proj.0.", "mm.a.norm."),
        ("audio_encoder.audio_adapter.proj.", "mm.a."),
    ],
    rows: &[IMAGES, SOUND],
    forced: &[
        ("v.blk.#.ffn_gate_inp.weight", Forced::Single),
        ("v.blk.#.exp_probs_b.weight", Forced::Single),
        ("a.conv2d.*", Forced::Single),
        ("a.conv_out.*", Forced::Single),
    ],
    keys: &[
        VISION,
        AUDIO,
        &[
            ("vision.projector_type", Text, Says("dots3note_v")),
            SILU,
            (EPSILON, Number, Vision(&["rms_norm_eps"])),
            (MERGE, Count, Vision(&["spatial_merge_size"])),
            (MIN_PIXELS, Count, Processor(&["min_pixels"])),
            (MAX_PIXELS, Count, Processor(&["max_pixels"])),
            ("vision.expert_count_per_layer", Counts, Made(experts)),
            ("vision.expert_used_count", Count, Made(used)),
            ("audio.projector_type", Text, Says("dots3note_a")),
            ("audio.num_mel_bins", Count, Audio(&["num_mel_bins"])),
            (AUDIO_EPSILON, Number, Is(1e-6)),
        ],
    ],
    layers: Layers::Counted,
    needs: &[
        "v.patch_embd.weight",
        "v.pre_ln.weight",
        "mm.input_norm.weight",
        "mm.0.weight",
        "mm.2.weight",
        "mm.post_norm.weight",
        "a.conv2d.1.weight",
        "a.conv2d.2.weight",
        "a.conv2d.3.weight",
        "a.conv_out.weight",
        "a.post_ln.weight",
        "mm.a.norm_pre.weight",
        "mm.a.mlp.1.weight",
        "mm.a.mlp.3.weight",
    ],
    ..PROJECTOR
};

const IMAGES: &[Row] = &[
    ("vision.patch_embed.proj", &["v.patch_embd"], Plain),
    ("vision.patch_embed.norm", &["v.pre_ln"], Plain),
    ("vision.blocks.#.norm_1", &["v.blk.#.ln1"], Plain),
    ("vision.blocks.#.norm_2", &["v.blk.#.ln2"], Plain),
    ("vision.blocks.#.attn.qkv", &["v.blk.#.attn_qkv"], Plain),
    ("vision.blocks.#.attn.proj", &["v.blk.#.attn_out"], Plain),
    ("vision.blocks.#.attn.q_norm", &["v.blk.#.attn_q_norm"], Plain),
    ("vision.blocks.#.attn.k_norm", &["v.blk.#.attn_k_norm"], Plain),
    ("vision.blocks.#.mlp.fc1", &["v.blk.#.ffn_gate"], Plain),
    ("vision.blocks.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
    ("vision.blocks.#.mlp.fc3", &["v.blk.#.ffn_up"], Plain),
    ("vision.blocks.#.mlp.gate_weight", &["v.blk.#.ffn_gate_inp.weight"], Plain),
    ("vision.blocks.#.mlp.router_bias", &["v.blk.#.exp_probs_b.weight"], Plain),
    ("vision.blocks.#.mlp.experts.#.fc1", &["v.blk.#.ffn_gate_exps"], Stacked),
    ("vision.blocks.#.mlp.experts.#.fc2", &["v.blk.#.ffn_down_exps"], Stacked),
    ("vision.blocks.#.mlp.experts.#.fc3", &["v.blk.#.ffn_up_exps"], Stacked),
    ("vision.post_trunk_norm", &["mm.post_norm"], Plain),
    ("vision.adapter.ln_q", &["mm.input_norm"], Plain),
    ("vision.adapter.mlp.#", &["mm.#"], Plain),
];

const SOUND: &[Row] = &[
    ("audio.conv2d1", &["a.conv2d.1"], Plain),
    ("audio.conv2d2", &["a.conv2d.2"], Plain),
    ("audio.conv2d3", &["a.conv2d.3"], Plain),
    ("audio.conv_out", &["a.conv_out"], Plain),
    ("audio.layer_norm", &["a.post_ln"], Plain),
    ("audio.layers.#.self_attn.q_proj", &["a.blk.#.attn_q"], Plain),
    ("audio.layers.#.self_attn.k_proj", &["a.blk.#.attn_k"], Plain),
    ("audio.layers.#.self_attn.v_proj", &["a.blk.#.attn_v"], Plain),
    ("audio.layers.#.self_attn.out_proj", &["a.blk.#.attn_out"], Plain),
    ("audio.layers.#.self_attn_layer_norm", &["a.blk.#.ln1"], Plain),
    ("audio.layers.#.final_layer_norm", &["a.blk.#.ln2"], Plain),
    ("audio.layers.#.fc1", &["a.blk.#.ffn_gate", "a.blk.#.ffn_up"], Split),
    ("audio.layers.#.fc2", &["a.blk.#.ffn_down"], Plain),
    ("mm.a.norm", &["mm.a.norm_pre"], Plain),
    ("mm.a.#", &["mm.a.mlp.#"], Plain),
];

/// What llama.cpp takes for granted, so that the converter refuses anything else: a setting, its value,
/// and whether it may be missing.
const FIXED: &[(&str, &str, bool)] = &[
    ("/vision_config/adapter_type", r#""patch_merger""#, false),
    ("/vision_config/pre_pixel_shuffle", "true", false),
    ("/vision_config/router_scoring_func", r#""sigmoid""#, true),
    ("/vision_config/router_scale", "1", true),
    ("/vision_config/temporal_patch_size", "1", true),
    ("/vision_config/use_bias", "false", true),
    ("/vision_config/use_qk_norm", "true", false),
    ("/audio_config/use_conv2d_stem", "true", false),
    ("/audio_config/use_rope", "true", false),
    ("/audio_config/use_rms_norm", "true", false),
    ("/audio_config/use_causal", "false", true),
    ("/audio_config/whisper_config/activation_function", r#""swiglu""#, false),
    ("/audio_config/merge_factor", "1", true),
    ("/audio_config/chunk_seconds", "60", false),
    ("/audio_config/rope_parameters/partial_rotary_factor", "0.5", false),
    ("/audio_config/rope_parameters/rope_theta", "10000", false),
];

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    for (pointer, value, may_be_missing) in FIXED {
        let stated = facts.config.pointer(pointer);
        let is_it = stated.map_or(*may_be_missing, |stated| same(stated, value));
        if !is_it {
            return Err(odd(pointer.trim_start_matches('/'), stated));
        }
    }
    rename(&mut facts.vision, "embed_dim", "hidden_size");
    set(&mut facts.vision, "image_size", 0);
    let inner = facts.processor["vision_config"].clone();
    for (key, value) in inner.as_object().into_iter().flatten() {
        set(&mut facts.processor, key, value.clone());
    }
    facts.audio = facts.audio["whisper_config"].clone();
    let layers = facts.audio.get("encoder_layers").cloned();
    set_default(&mut facts.audio, "num_hidden_layers", layers);
    whisper_names(facts)
}

fn same(stated: &Json, value: &str) -> bool {
    let value: Json = serde_json::from_str(value).unwrap_or_default();
    *stated == value || (stated.is_number() && stated.as_f64() == value.as_f64())
}

/// How many experts each layer has.
fn experts(facts: &Facts<'_>) -> Result<Option<Json>> {
    const KEY: &str = "pyramid_num_routed";
    let stated = facts.vision.get(KEY);
    let counts = stated.and_then(Json::as_array).and_then(|counts| {
        counts.iter().map(|count| count.as_i64().map(|count| count.max(0))).collect()
    });
    let counts: Vec<i64> = counts.ok_or_else(|| odd(KEY, stated))?;
    Ok(Some(counts.into()))
}

fn used(facts: &Facts<'_>) -> Result<Option<Json>> {
    const KEY: &str = "capacity_factor";
    let stated = facts.vision.get(KEY);
    let used = stated.and_then(Json::as_f64).map(f64::trunc);
    let used = used.and_then(|used| whole(&used.into())).ok_or_else(|| odd(KEY, stated))?;
    Ok(Some(used.into()))
}
