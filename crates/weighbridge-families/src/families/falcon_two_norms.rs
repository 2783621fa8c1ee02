//! Falcon with a norm for attention and another one, as its larger models have it. Repositories call it
//! Falcon all the same.

use super::falcon::{FALCON, ROWS};
use super::family::*;

/// Files of it alone are of this family: repositories are Falcon's, which stands first.
pub(super) const FALCON_TWO_NORMS: Family = Family {
    rows: &[NORMS, ROWS],
    back: Some(Back {
        made: &[
            ("context_length", "max_position_embeddings"),
            ("feed_forward_length", "ffn_hidden_size"),
        ],
        flags: &[("", &["blk.#.attn_norm.bias", "blk.#.attn_norm_2.bias", "output_norm.bias"])],
        fixed: &[
            ("num_kv_heads", key_heads),
            ("num_key_value_heads", key_heads),
            ("new_decoder_architecture", |_, _| Some(true.into())),
            ("num_ln_in_parallel_attn", |_, _| Some(2.into())),
        ],
        untold: &[
            ("alibi", "false"),
            ("apply_residual_connection_post_layernorm", "false"),
            ("bias", "false"),
            ("multi_query", "true"),
            ("parallel_attn", "true"),
        ],
        activation: ("activation", "gelu"),
        ..BACK
    }),
    ..FALCON
};

const NORMS: &[Row] =
    &[("h.#.ln_mlp", &["blk.#.attn_norm"], Norm), ("h.#.ln_attn", &["blk.#.attn_norm_2"], Norm)];

fn key_heads(told: &Told<'_>, _: &Config) -> Option<Json> {
    as_json(&told.own("attention.head_count_kv")?)
}
