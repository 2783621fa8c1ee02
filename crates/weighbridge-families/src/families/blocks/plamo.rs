//! PLaMo's layers: norms before and behind attention and the feed-forward network, each stored less a
//! constant of its own.

use super::rows::How::{Embedding, Own, Plain};
use super::rows::{How, Laid, Lay, Row};
use crate::change::Change;
use crate::families::settings::Settings;
use crate::view::View;

/// A norm that is stored less one.
pub(crate) const PLUS_ONE: How = Own(Lay(plus_one));

/// Two norms have names without an ending in GGUF.
pub(crate) const PLAMO_ROWS: &[Row] = &[
    ("embed_tokens", &["token_embd"], Embedding),
    ("norm", &["output_norm"], PLUS_ONE),
    ("lm_head", &["output"], Embedding),
    ("layers.layers.#.pre_mixer_norm", &["blk.#.attn_norm"], PLUS_ONE),
    ("layers.layers.#.post_mixer_norm", &["blk.#.post_attention_norm!"], Own(Lay(behind_mixer))),
    ("layers.layers.#.pre_mlp_norm", &["blk.#.ffn_norm"], PLUS_ONE),
    ("layers.layers.#.post_mlp_norm", &["blk.#.post_ffw_norm!"], Own(Lay(behind_network))),
    ("layers.layers.#.mixer.qkv_proj", &["blk.#.attn_qkv"], Plain),
    ("layers.layers.#.mixer.o_proj", &["blk.#.attn_output"], Plain),
    ("layers.layers.#.mlp.gate_up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.layers.#.mlp.down_proj", &["blk.#.ffn_down"], Plain),
];

fn plus_one(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    Some(plus(1.0, shape))
}

fn behind_mixer(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    Some(plus(1.0 / 5.0, shape))
}

/// What five to the power of one and a half is divided into one.
fn behind_network(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    #[allow(clippy::cast_possible_truncation)] // The sum is one in f32.
    Some(plus(0.089_442_719_099_991_59_f64 as f32, shape))
}

fn plus(constant: f32, shape: &[u64]) -> Vec<Laid> {
    let view = View { change: Change::Add(constant), ..View::whole(shape) };
    Laid::whole(view, format!("norm + {constant}"))
}
