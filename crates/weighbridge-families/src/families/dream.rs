//! Dream, a diffusion model that is made as Qwen 2 is.

use super::family::*;

pub(super) const DREAM: Family = Family {
    architecture: "dream",
    classes: &["DreamModel"],
    types: &["Dream"],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::PiecesOrMarked,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    HEADS_SHARE,
    SEES_ALL,
    differs(&["use_mrope"], off, "rotates positions of one dimension"),
    NO_MLP_BIAS,
];

const KEYS: &[KeyRow] = &[
    POOLING,
    // Every token sees the whole text.
    ("attention.causal", Flag, Made(|_| Some(false.into()))),
    ("tokenizer.ggml.mask_token_id", Count, Any(&["mask_token_id"])),
];
