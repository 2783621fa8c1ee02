//! Gemma 3n: a `MobileNetV5` for images, which is timm's, and a conformer for sound. llama.cpp reads the former only.

use super::gemma4::GEMMA_PARTS;
use super::projector::*;

pub(super) const GEMMA3N: Projector = Projector {
    shown: "gemma3n",
    classes: &["Gemma3nForConditionalGeneration"],
    defaults: r#"{"vision_config": {"hidden_size": 2048}, "text_config": {"hidden_size": 2048},
        "audio_config": {"hidden_size": 1536, "conf_num_attention_heads": 8, "conf_num_hidden_layers": 12,
        "input_feat_size": 128}}"#,
    audio: "/audio_config",
    settle,
    starts: GEMMA_PARTS,
    rows: &[EMBEDDERS, STAGES, ENDS, AUDIO_ROWS, AUDIO_LAYERS],
    ends: &["weight", "bias", "gamma"],
    forced: &[
        ("v.conv_stem.conv.weight", Forced::Single),
        ("a.conv1d.#.weight", Forced::Single),
        ("a.blk.#.conv_dw.weight", Forced::Single),
        ("a.pre_encode.out.weight", Forced::Half),
    ],
    keys: &[
        VISION,
        AUDIO,
        &[
            ("vision.projector_type", Text, Says("gemma3nv")),
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
            ("audio.projector_type", Text, Says("gemma3na")),
            ("audio.num_mel_bins", Count, Audio(&["input_feat_size"])),
            (AUDIO_EPSILON, Number, Is(1e-5)),
        ],
    ],
    // What the file says of layers of images is made up.
    layers: Layers::Any,
    assumes: &[("vision.architecture", &["mobilenetv5_300m_enc"], "computes MobileNetV5")],
    needs: &[
        "v.conv_stem.conv.weight",
        "v.conv_stem.bn.weight",
        "v.msfa.ffn.pw_exp.conv.weight",
        "v.msfa.ffn.pw_proj.conv.weight",
        "v.msfa.norm.weight",
        "mm.input_projection.weight",
        "mm.soft_emb_norm.weight",
    ],
    ..PROJECTOR
};

const EMBEDDERS: &[Row] = &[
    ("embed_vision.embedding", &["mm.embedding"], Plain),
    ("embed_vision.hard_embedding_norm", &["mm.hard_emb_norm"], Plain),
    ("embed_vision.soft_embedding_norm", &["mm.soft_emb_norm"], Plain),
    ("embed_vision.embedding_projection", &["mm.input_projection"], Plain),
    ("embed_audio.embedding", &["mm.a.embedding"], Plain),
    ("embed_audio.hard_embedding_norm", &["mm.a.hard_emb_norm"], Plain),
    ("embed_audio.soft_embedding_norm", &["mm.a.soft_emb_norm"], Plain),
    ("embed_audio.embedding_projection", &["mm.a.input_projection"], Plain),
];

/// Blocks of each stage, of three kinds.
#[rustfmt::skip]
const STAGES: &[Row] = &[
    ("vision.timm_model.blocks.#.#.conv_exp", &["v.blk.#.#.conv_exp"], Plain),
    ("vision.timm_model.blocks.#.#.bn1", &["v.blk.#.#.bn1"], Plain),
    ("vision.timm_model.blocks.#.#.conv_pwl", &["v.blk.#.#.conv_pwl"], Plain),
    ("vision.timm_model.blocks.#.#.bn2", &["v.blk.#.#.bn2"], Plain),
    ("vision.timm_model.blocks.#.#.dw_start.conv", &["v.blk.#.#.dw_start.conv"], Plain),
    ("vision.timm_model.blocks.#.#.dw_start.bn", &["v.blk.#.#.dw_start.bn"], Plain),
    ("vision.timm_model.blocks.#.#.dw_mid.conv", &["v.blk.#.#.dw_mid.conv"], Plain),
    ("vision.timm_model.blocks.#.#.dw_mid.bn", &["v.blk.#.#.dw_mid.bn"], Plain),
    ("vision.timm_model.blocks.#.#.pw_exp.conv", &["v.blk.#.#.pw_exp.conv"], Plain),
    ("vision.timm_model.blocks.#.#.pw_exp.bn", &["v.blk.#.#.pw_exp.bn"], Plain),
    ("vision.timm_model.blocks.#.#.pw_proj.conv", &["v.blk.#.#.pw_proj.conv"], Plain),
    ("vision.timm_model.blocks.#.#.pw_proj.bn", &["v.blk.#.#.pw_proj.bn"], Plain),
    ("vision.timm_model.blocks.#.#.layer_scale", &["v.blk.#.#.layer_scale"], Plain),
    ("vision.timm_model.blocks.#.#.norm", &["v.blk.#.#.norm"], Plain),
    ("vision.timm_model.blocks.#.#.attn.query.proj", &["v.blk.#.#.attn.query.proj"], Plain),
    ("vision.timm_model.blocks.#.#.attn.key.proj", &["v.blk.#.#.attn.key.proj"], Plain),
    ("vision.timm_model.blocks.#.#.attn.key.down_conv", &["v.blk.#.#.attn.key.down_conv"], Plain),
    ("vision.timm_model.blocks.#.#.attn.key.norm", &["v.blk.#.#.attn.key.norm"], Plain),
    ("vision.timm_model.blocks.#.#.attn.value.proj", &["v.blk.#.#.attn.value.proj"], Plain),
    ("vision.timm_model.blocks.#.#.attn.value.down_conv", &["v.blk.#.#.attn.value.down_conv"], Plain),
    ("vision.timm_model.blocks.#.#.attn.value.norm", &["v.blk.#.#.attn.value.norm"], Plain),
    ("vision.timm_model.blocks.#.#.attn.output.proj", &["v.blk.#.#.attn.output.proj"], Plain),
];

/// What is before the stages, and what puts the last two together.
const ENDS: &[Row] = &[
    ("vision.timm_model.conv_stem.conv.bias", &["v.conv_stem.conv.bias"], Own(stem_bias)),
    ("vision.timm_model.conv_stem.conv", &["v.conv_stem.conv"], Plain),
    ("vision.timm_model.conv_stem.bn", &["v.conv_stem.bn"], Plain),
    ("vision.timm_model.msfa.ffn.pw_exp.conv", &["v.msfa.ffn.pw_exp.conv"], Plain),
    ("vision.timm_model.msfa.ffn.pw_exp.bn", &["v.msfa.ffn.pw_exp.bn"], Plain),
    ("vision.timm_model.msfa.ffn.pw_proj.conv", &["v.msfa.ffn.pw_proj.conv"], Plain),
    ("vision.timm_model.msfa.ffn.pw_proj.bn", &["v.msfa.ffn.pw_proj.bn"], Plain),
    ("vision.timm_model.msfa.norm", &["v.msfa.norm"], Plain),
];

const AUDIO_ROWS: &[Row] = &[
    ("audio.subsample_conv_projection.conv_0.conv", &["a.conv1d.0"], Plain),
    ("audio.subsample_conv_projection.conv_0.norm", &["a.conv1d.0.norm"], Plain),
    ("audio.subsample_conv_projection.conv_1.conv", &["a.conv1d.1"], Plain),
    ("audio.subsample_conv_projection.conv_1.norm", &["a.conv1d.1.norm"], Plain),
    ("audio.subsample_conv_projection.input_proj_linear", &["a.pre_encode.out"], Plain),
];

const AUDIO_LAYERS: &[Row] = &[
    ("audio.conformer.#.norm", &["a.blk.#.layer_pre_norm"], Plain),
    ("audio.conformer.#.attention.pre_attn_norm", &["a.blk.#.ln1"], Plain),
    ("audio.conformer.#.attention.post_norm", &["a.blk.#.ln2"], Plain),
    ("audio.conformer.#.attention.attn.q_proj", &["a.blk.#.attn_q"], Plain),
    ("audio.conformer.#.attention.attn.k_proj", &["a.blk.#.attn_k"], Plain),
    ("audio.conformer.#.attention.attn.v_proj", &["a.blk.#.attn_v"], Plain),
    ("audio.conformer.#.attention.attn.per_dim_scale", &["a.blk.#.per_dim_scale"], Plain),
    (
        "audio.conformer.#.attention.attn.relative_position_embedding.pos_proj",
        &["a.blk.#.linear_pos"],
        Plain,
    ),
    ("audio.conformer.#.attention.post", &["a.blk.#.attn_out"], Plain),
    ("audio.conformer.#.ffw_layer_start.pre_layer_norm", &["a.blk.#.ffn_norm"], Plain),
    ("audio.conformer.#.ffw_layer_start.post_layer_norm", &["a.blk.#.ffn_post_norm"], Plain),
    ("audio.conformer.#.ffw_layer_start.ffw_layer_1", &["a.blk.#.ffn_up"], Plain),
    ("audio.conformer.#.ffw_layer_start.ffw_layer_2", &["a.blk.#.ffn_down"], Plain),
    ("audio.conformer.#.ffw_layer_end.pre_layer_norm", &["a.blk.#.ffn_norm_1"], Plain),
    ("audio.conformer.#.ffw_layer_end.post_layer_norm", &["a.blk.#.ffn_post_norm_1"], Plain),
    ("audio.conformer.#.ffw_layer_end.ffw_layer_1", &["a.blk.#.ffn_up_1"], Plain),
    ("audio.conformer.#.ffw_layer_end.ffw_layer_2", &["a.blk.#.ffn_down_1"], Plain),
    ("audio.conformer.#.lconv1d.pre_layer_norm", &["a.blk.#.conv_norm"], Plain),
    ("audio.conformer.#.lconv1d.linear_start", &["a.blk.#.conv_pw1"], Plain),
    ("audio.conformer.#.lconv1d.depthwise_conv1d", &["a.blk.#.conv_dw"], Plain),
    ("audio.conformer.#.lconv1d.conv_norm", &["a.blk.#.norm_conv"], Plain),
    ("audio.conformer.#.lconv1d.linear_end", &["a.blk.#.conv_pw2"], Plain),
];

/// One number a channel, as an image of one pixel.
fn stem_bias(_: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let &[channels] = shape else { return None };
    Some(Part::seen(&[1, channels, 1, 1]))
}

/// A file has entries of transformers' encoders, which the converter makes up.
fn settle(facts: &mut Facts<'_>) -> Result<()> {
    let size = facts.processor.pointer("/size/height").and_then(crate::families::whole);
    let size = size.unwrap_or(768);
    let tokens = count(&facts.processor, "image_seq_length").unwrap_or(256);
    set(&mut facts.vision, "image_size", size);
    set(&mut facts.vision, "patch_size", size.checked_div(tokens));
    set(&mut facts.vision, "n_layers", 128);
    let inner = count(&facts.vision, "intermediate_size").unwrap_or(2048);
    set(&mut facts.vision, "intermediate_size", inner.saturating_mul(4));
    set_default(&mut facts.vision, "num_attention_heads", 8);
    set(&mut facts.processor, "image_mean", vec![0.0; 3]);
    set(&mut facts.processor, "image_std", vec![1.0; 3]);
    rename(&mut facts.audio, "conf_num_hidden_layers", "n_layers");
    rename(&mut facts.audio, "conf_num_attention_heads", "num_attention_heads");
    set_default(&mut facts.audio, "intermediate_size", 6144);
    Ok(())
}
