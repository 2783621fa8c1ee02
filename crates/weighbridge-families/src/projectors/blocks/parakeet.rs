//! Audio encoders as Parakeet has them in transformers, whose names begin with `audio.`, and what is behind
//! them (`mm.a.`).

use crate::projectors::facts::Facts;
use crate::projectors::rows::How::{Own, Plain, Squeezed};
use crate::projectors::rows::{Part, Row};

/// Convolutions, layers, the filters before them and the layers behind them.
pub(crate) const PARAKEET: &[Row] = &[
    // Before rows of modules.
    ("audio.subsampling.layers.#.bias", &["a.conv1d.#.bias"], Own(channels)),
    ("audio.layers.#.conv.pointwise_conv1.bias", &["a.blk.#.conv_pw1.bias"], Own(channels)),
    ("audio.layers.#.conv.pointwise_conv2.bias", &["a.blk.#.conv_pw2.bias"], Own(channels)),
    ("audio.layers.#.conv.depthwise_conv.weight", &["a.blk.#.conv_dw.weight"], Own(depthwise)),
    ("audio.subsampling.layers.#", &["a.conv1d.#"], Plain),
    ("audio.subsampling.linear", &["a.pre_encode.out"], Plain),
    ("audio.feature_extractor.featurizer.fb", &["a.mel_filters"], Plain),
    ("audio.feature_extractor.featurizer.window", &["a.window"], Plain),
    ("audio.layers.#.norm_feed_forward1", &["a.blk.#.ffn_norm"], Plain),
    ("audio.layers.#.feed_forward1.linear1", &["a.blk.#.ffn_up"], Plain),
    ("audio.layers.#.feed_forward1.linear2", &["a.blk.#.ffn_down"], Plain),
    ("audio.layers.#.norm_self_att", &["a.blk.#.ln1"], Plain),
    ("audio.layers.#.self_attn.q_proj", &["a.blk.#.attn_q"], Plain),
    ("audio.layers.#.self_attn.k_proj", &["a.blk.#.attn_k"], Plain),
    ("audio.layers.#.self_attn.v_proj", &["a.blk.#.attn_v"], Plain),
    ("audio.layers.#.self_attn.o_proj", &["a.blk.#.attn_out"], Plain),
    ("audio.layers.#.self_attn.relative_k_proj", &["a.blk.#.linear_pos"], Plain),
    ("audio.layers.#.self_attn.bias_u", &["a.blk.#.pos_bias_u"], Plain),
    ("audio.layers.#.self_attn.bias_v", &["a.blk.#.pos_bias_v"], Plain),
    ("audio.layers.#.norm_conv", &["a.blk.#.norm_conv"], Plain),
    ("audio.layers.#.conv.pointwise_conv1", &["a.blk.#.conv_pw1"], Squeezed),
    ("audio.layers.#.conv.pointwise_conv2", &["a.blk.#.conv_pw2"], Squeezed),
    ("audio.layers.#.conv.depthwise_conv", &["a.blk.#.conv_dw"], Plain),
    ("audio.layers.#.conv.norm.running_mean", &["a.blk.#.conv_norm_mean"], Plain),
    ("audio.layers.#.conv.norm.running_var", &["a.blk.#.conv_norm_var"], Plain),
    ("audio.layers.#.conv.norm", &["a.blk.#.conv_norm"], Plain),
    ("audio.layers.#.norm_feed_forward2", &["a.blk.#.ffn_norm_1"], Plain),
    ("audio.layers.#.feed_forward2.linear1", &["a.blk.#.ffn_up_1"], Plain),
    ("audio.layers.#.feed_forward2.linear2", &["a.blk.#.ffn_down_1"], Plain),
    ("audio.layers.#.norm_out", &["a.blk.#.ln2"], Plain),
    ("mm.a.norm", &["mm.a.norm_pre"], Plain),
    ("mm.a.linear1", &["mm.a.mlp.1"], Plain),
    ("mm.a.linear2", &["mm.a.mlp.2"], Plain),
];

/// A number for each channel of an image.
fn channels(_: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let &[channels] = shape else { return None };
    Some(Part::seen(&[1, channels, 1, 1]))
}

/// `[channels, 1, width]`, as a kernel of an image.
fn depthwise(_: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let &[channels, 1, width] = shape else { return None };
    Some(Part::seen(&[1, 1, channels, width]))
}
