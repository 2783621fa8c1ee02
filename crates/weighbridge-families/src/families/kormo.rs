//! KORMo: Qwen 2 with norms of other names, which transformers does not know.

use super::family::*;

pub(super) const KORMO: Family = Family {
    architecture: "qwen2",
    classes: &["KORMoForCausalLM"],
    types: &["kormo"],
    rows: &[TRUNK, ATTENTION, MLP, NORMS],
    keys: &[BASE, &[POOLING]],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::PiecesOrPairs,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    HEADS_SHARE,
    // No bias is there, whatever the config says, or it is in the file.
    free(&["attention_bias", "mlp_bias", "mask_type"]),
];

const NORMS: &[Row] = &[
    ("layers.#.pre_attention_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.pre_mlp_layernorm", &["blk.#.ffn_norm"], Norm),
];
