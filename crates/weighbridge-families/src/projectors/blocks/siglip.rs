//! Encoders as SigLIP and CLIP have them, whose names begin with `vision.`.

use crate::projectors::rows::How::Plain;
use crate::projectors::rows::Row;

/// Patches, positions and layers.
pub(crate) const SIGLIP: &[Row] = &[
    ("vision.embeddings.patch_embedding", &["v.patch_embd"], Plain),
    ("vision.embeddings.position_embedding", &["v.position_embd"], Plain),
    ("vision.encoder.layers.#.self_attn.q_proj", &["v.blk.#.attn_q"], Plain),
    ("vision.encoder.layers.#.self_attn.k_proj", &["v.blk.#.attn_k"], Plain),
    ("vision.encoder.layers.#.self_attn.v_proj", &["v.blk.#.attn_v"], Plain),
    ("vision.encoder.layers.#.self_attn.out_proj", &["v.blk.#.attn_out"], Plain),
    ("vision.encoder.layers.#.layer_norm1", &["v.blk.#.ln1"], Plain),
    ("vision.encoder.layers.#.layer_norm2", &["v.blk.#.ln2"], Plain),
    ("vision.encoder.layers.#.mlp.fc1", &["v.blk.#.ffn_up"], Plain),
    ("vision.encoder.layers.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
    ("vision.post_layernorm", &["v.post_ln"], Plain),
];
