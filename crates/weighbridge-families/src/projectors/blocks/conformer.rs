//! Audio encoders of conformer layers, whose names begin with `audio.`.

use crate::projectors::rows::How::{Folded, Plain, Squeezed};
use crate::projectors::rows::Row;

/// Layers as NVIDIA's toolkit names them.
pub(crate) const CONFORMER_LAYERS: &[Row] = &[
    ("audio.layers.#.norm_feed_forward1", &["a.blk.#.ffn_norm"], Plain),
    ("audio.layers.#.feed_forward1.linear1", &["a.blk.#.ffn_up"], Plain),
    ("audio.layers.#.feed_forward1.linear2", &["a.blk.#.ffn_down"], Plain),
    ("audio.layers.#.norm_self_att", &["a.blk.#.ln1"], Plain),
    ("audio.layers.#.self_attn.linear_q", &["a.blk.#.attn_q"], Plain),
    ("audio.layers.#.self_attn.linear_k", &["a.blk.#.attn_k"], Plain),
    ("audio.layers.#.self_attn.linear_v", &["a.blk.#.attn_v"], Plain),
    ("audio.layers.#.self_attn.linear_out", &["a.blk.#.attn_out"], Plain),
    ("audio.layers.#.self_attn.linear_pos", &["a.blk.#.linear_pos"], Plain),
    ("audio.layers.#.self_attn.pos_bias_u", &["a.blk.#.pos_bias_u"], Plain),
    ("audio.layers.#.self_attn.pos_bias_v", &["a.blk.#.pos_bias_v"], Plain),
    ("audio.layers.#.norm_conv", &["a.blk.#.norm_conv"], Plain),
    ("audio.layers.#.conv.pointwise_conv1", &["a.blk.#.conv_pw1"], Squeezed),
    ("audio.layers.#.conv.depthwise_conv", &["a.blk.#.conv_dw"], Squeezed),
    ("audio.layers.#.conv.batch_norm", &["a.blk.#.conv_norm"], Folded),
    ("audio.layers.#.conv.pointwise_conv2", &["a.blk.#.conv_pw2"], Squeezed),
    ("audio.layers.#.norm_feed_forward2", &["a.blk.#.ffn_norm_1"], Plain),
    ("audio.layers.#.feed_forward2.linear1", &["a.blk.#.ffn_up_1"], Plain),
    ("audio.layers.#.feed_forward2.linear2", &["a.blk.#.ffn_down_1"], Plain),
    ("audio.layers.#.norm_out", &["a.blk.#.ln2"], Plain),
];

/// The ends of names where there are norms over a batch.
pub(crate) const BATCH_NORM_ENDS: &[&str] =
    &["weight", "bias", "running_mean", "running_var", "num_batches_tracked"];
