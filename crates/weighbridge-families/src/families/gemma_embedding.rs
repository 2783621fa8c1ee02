//! EmbeddingGemma: Gemma 3 that looks both ways.

use super::family::*;
use super::gemma::{SCALE, is_scale};
use super::gemma3::{self, GEMMA3};

pub(super) const GEMMA_EMBEDDING: Family = Family {
    architecture: "gemma-embedding",
    classes: &["Gemma3TextModel"],
    types: &["gemma_embedding", "gemma3_text"],
    prefix: "",
    keys: &[BASE, gemma3::KEYS, &[WINDOW, POOLING]],
    rules: &[RULES, ROPE],
    back: None,
    mlx: false,
    ..GEMMA3
};

const RULES: &[Rule] = &[
    differs(&["hidden_activation"], gelu, "uses gelu"),
    free(&["hidden_act", "attn_logit_softcapping"]),
    differs(&["use_bidirectional_attention"], stated_on, "looks both ways"),
    NO_ATTENTION_BIAS,
    differs(&["query_pre_attn_scalar"], |case, scale| is_scale(case, scale, u64::MAX), SCALE),
    UNSCALED_WINDOWS,
];
