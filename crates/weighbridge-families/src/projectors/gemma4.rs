//! Gemma 4: an encoder of images whose layers have norms on both ends, and a conformer for sound. Linear layers
//! may state in which range their inputs and outputs are.


use super::projector::*;

pub(super) const GEMMA4: Projector = Projector {
    shown: "gemma4",
    classes: &["Gemma4ForConditionalGeneration"],
    defaults: r#"{"vision_config": {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 16,
        "num_attention_heads": 12, "num_key_value_heads": 12, "patch_size": 16, "pooling_kernel_size": 3}}"#,
    audio: "/audio_config",
    settle,
    starts: GEMMA_PARTS,
    rename: |_, name| {
        // Linear layers that clip are modules of their own, with the matrix inside.
        Ok(name.ends_with(".linear.weight").then(|| name.replace(".linear.weight", ".weight")))
    },
    rows: &[VISION_ROWS, AUDIO_ROWS, AUDIO_LAYERS],
    ends: &["weight", "bias", "input_max", "input_min", "output_max", "output_min"],
    forced: &[
        ("a.conv1d.#.weight", Forced::Single),
        ("a.input_projection.weight", Forced::Single),
        ("a.blk.#.conv_dw.weight", Forced::Single),
    ],
    keys: &[
        VISION,
        AUDIO,
        &[
            ("vision.projector_type", Text, Says("gemma4v")),
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
            ("audio.projector_type", Text, Says("gemma4a")),
            ("audio.num_mel_bins", Count, AudioOr(&["input_feat_size"], 128.0)),
            (AUDIO_EPSILON, Number, AudioOr(&["layer_norm_eps"], 1e-6)),
        ],
    ],
    assumes: &[
        ("vision.rope_parameters.rope_theta", &["100.0", "100"], "turns positions by 100"),
        ("vision.pooling_kernel_size", &["3"], "pools 3 by 3 patches"),
        ("vision.rms_norm_eps", &["1e-6"], "computes norms with 1e-6"),
        ("audio.rms_norm_eps", &["1e-6"], "computes norms with 1e-6"),
        ("audio.hidden_act", &["silu"], "computes silu"),
        ("audio.residual_weight", &["0.5"], "halves feed-forward layers"),
        ("audio.attention_chunk_size", &["12"], "attends to chunks of 12"),
        ("audio.attention_context_left", &["13"], "attends to 12 chunks before"),
        ("audio.attention_context_right", &["0"], "attends to nothing behind"),
        ("audio.attention_logit_cap", &["50.0", "50"], "caps scores at 50"),
    ],
    needs: &[
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "mm.input_projection.weight",
        "a.conv1d.0.weight",
        "a.conv1d.0.norm.weight",
        "a.conv1d.1.weight",
        "a.conv1d.1.norm.weight",
        "a.input_projection.weight",
        "a.pre_encode.out.weight",
        "mm.a.input_projection.weight",
    ],
    has_width: true,
    ..PROJECTOR
};

/// How names begin in Gemma's models of images and sound.
pub(super) const GEMMA_PARTS: &[(&str, &str)] = &[
    ("model.vision_tower.", "vision."),
    ("model.vision_embedder.", "vision."),
    ("model.audio_tower.", "audio."),
    ("model.embed_vision.", "embed_vision."),
    ("model.embed_audio.", "embed_audio."),
];

const VISION_ROWS: &[Row] = &[
    ("embed_vision.embedding_projection", &["mm.input_projection"], Plain),
    ("vision.patch_embedder.input_proj.weight", &["v.patch_embd.weight"], Pixels),
    ("vision.patch_embedder.position_embedding_table", &["v.position_embd.weight"], Plain),
    ("vision.std_bias", &["v.std_bias"], Plain),
    ("vision.std_scale", &["v.std_scale"], Plain),
    ("vision.encoder.layers.#.input_layernorm", &["v.blk.#.ln1"], Plain),
    ("vision.encoder.layers.#.post_attention_layernorm", &["v.blk.#.attn_post_norm"], Plain),
    ("vision.encoder.layers.#.pre_feedforward_layernorm", &["v.blk.#.ln2"], Plain),
    ("vision.encoder.layers.#.post_feedforward_layernorm", &["v.blk.#.ffn_post_norm"], Plain),
    ("vision.encoder.layers.#.self_attn.q_norm", &["v.blk.#.attn_q_norm"], Plain),
    ("vision.encoder.layers.#.self_attn.k_norm", &["v.blk.#.attn_k_norm"], Plain),
    ("vision.encoder.layers.#.self_attn.q_proj", &["v.blk.#.attn_q"], LINEAR),
    ("vision.encoder.layers.#.self_attn.k_proj", &["v.blk.#.attn_k"], LINEAR),
    ("vision.encoder.layers.#.self_attn.v_proj", &["v.blk.#.attn_v"], LINEAR),
    ("vision.encoder.layers.#.self_attn.o_proj", &["v.blk.#.attn_out"], LINEAR),
    ("vision.encoder.layers.#.mlp.gate_proj", &["v.blk.#.ffn_gate"], LINEAR),
    ("vision.encoder.layers.#.mlp.up_proj", &["v.blk.#.ffn_up"], LINEAR),
    ("vision.encoder.layers.#.mlp.down_proj", &["v.blk.#.ffn_down"], LINEAR),
];

const AUDIO_ROWS: &[Row] = &[
    ("embed_audio.embedding_projection", &["mm.a.input_projection"], Plain),
    ("audio.subsample_conv_projection.layer0.conv", &["a.conv1d.0"], Plain),
    ("audio.subsample_conv_projection.layer0.norm", &["a.conv1d.0.norm"], Plain),
    ("audio.subsample_conv_projection.layer1.conv", &["a.conv1d.1"], Plain),
    ("audio.subsample_conv_projection.layer1.norm", &["a.conv1d.1.norm"], Plain),
    ("audio.subsample_conv_projection.input_proj_linear", &["a.input_projection"], Plain),
    ("audio.output_proj", &["a.pre_encode.out"], Plain),
];

const AUDIO_LAYERS: &[Row] = &[
    ("audio.layers.#.norm_pre_attn", &["a.blk.#.attn_pre_norm"], Plain),
    ("audio.layers.#.norm_post_attn", &["a.blk.#.attn_post_norm"], Plain),
    ("audio.layers.#.norm_out", &["a.blk.#.ln2"], Plain),
    ("audio.layers.#.self_attn.q_proj", &["a.blk.#.attn_q"], LINEAR),
    ("audio.layers.#.self_attn.k_proj", &["a.blk.#.attn_k"], LINEAR),
    ("audio.layers.#.self_attn.v_proj", &["a.blk.#.attn_v"], LINEAR),
    ("audio.layers.#.self_attn.post", &["a.blk.#.attn_out"], LINEAR),
    ("audio.layers.#.self_attn.relative_k_proj", &["a.blk.#.attn_k_rel"], Plain),
    ("audio.layers.#.self_attn.per_dim_scale", &["a.blk.#.per_dim_scale.weight"], SOFTPLUS),
    ("audio.layers.#.feed_forward1.pre_layer_norm", &["a.blk.#.ffn_norm"], Plain),
    ("audio.layers.#.feed_forward1.post_layer_norm", &["a.blk.#.ffn_post_norm"], Plain),
    ("audio.layers.#.feed_forward1.ffw_layer_1", &["a.blk.#.ffn_up"], LINEAR),
    ("audio.layers.#.feed_forward1.ffw_layer_2", &["a.blk.#.ffn_down"], LINEAR),
    ("audio.layers.#.feed_forward2.pre_layer_norm", &["a.blk.#.ffn_norm_1"], Plain),
    ("audio.layers.#.feed_forward2.post_layer_norm", &["a.blk.#.ffn_post_norm_1"], Plain),
    ("audio.layers.#.feed_forward2.ffw_layer_1", &["a.blk.#.ffn_up_1"], LINEAR),
    ("audio.layers.#.feed_forward2.ffw_layer_2", &["a.blk.#.ffn_down_1"], LINEAR),
    ("audio.layers.#.lconv1d.pre_layer_norm", &["a.blk.#.conv_norm"], Plain),
    ("audio.layers.#.lconv1d.linear_start", &["a.blk.#.conv_pw1"], LINEAR),
    ("audio.layers.#.lconv1d.depthwise_conv1d", &["a.blk.#.conv_dw"], Squeezed),
    ("audio.layers.#.lconv1d.conv_norm", &["a.blk.#.norm_conv"], Plain),
    ("audio.layers.#.lconv1d.linear_end", &["a.blk.#.conv_pw2"], LINEAR),
];

/// A matrix, or a number that bounds what goes in or out, which has one dimension in GGUF.
const LINEAR: How =
    Own(|_, shape| Some(if shape.is_empty() { Part::seen(&[1]) } else { Part::seen(shape) }));

/// The logarithm of one more than the exponential.
const SOFTPLUS: How =
    How::Numbers(|number: f32| if number > 20.0 { number } else { number.exp().ln_1p() });

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    let heads = count(&facts.vision, "num_attention_heads");
    if count(&facts.vision, "num_key_value_heads") != heads {
        return Err(odd("num_key_value_heads", facts.vision.get("num_key_value_heads")));
    }
    // Images may have any size.
    set(&mut facts.vision, "image_size", 224);
    if let Some(width) = count(&facts.audio, "hidden_size") {
        set(&mut facts.audio, "intermediate_size", width.saturating_mul(4));
    }
    Ok(())
}
