//! Encoders as `MoonViT` has them, whose names begin with `vision.`.

use crate::projectors::rows::How::Plain;
use crate::projectors::rows::Row;

/// Patches, layers but for queries, keys and values, and the projection.
pub(crate) const MOONVIT: &[Row] = &[
    ("vision.patch_embed.proj", &["v.patch_embd"], Plain),
    ("vision.encoder.blocks.#.norm0", &["v.blk.#.ln1"], Plain),
    ("vision.encoder.blocks.#.norm1", &["v.blk.#.ln2"], Plain),
    ("vision.encoder.blocks.#.wo", &["v.blk.#.attn_out"], Plain),
    ("vision.encoder.blocks.#.mlp.fc0", &["v.blk.#.ffn_up"], Plain),
    ("vision.encoder.blocks.#.mlp.fc1", &["v.blk.#.ffn_down"], Plain),
    ("vision.encoder.final_layernorm", &["v.post_ln"], Plain),
    ("mm.pre_norm", &["mm.input_norm"], Plain),
    ("mm.linear_1", &["mm.1"], Plain),
    ("mm.linear_2", &["mm.2"], Plain),
];
