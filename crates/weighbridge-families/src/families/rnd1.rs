//! RND1, a diffusion model that is made as Qwen 3 with experts is.

use super::family::*;

pub(super) const RND1: Family = Family {
    architecture: "rnd1",
    classes: &["RND1"],
    types: &["rnd1"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, TWO_NORMS, EXPERTS],
    gguf: &[GGUF],
    keys: &[BASE, EXPERT_LENGTHS, KEYS],
    rules: &[RULES, ROPE],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    ALL_EXPERTS,
    EVERY_STEP,
    SEES_ALL,
    differs(&["norm_topk_prob"], stated_on, "normalizes the weights of experts"),
    // Of the program around the model.
    free(&["moe_backend", "num_diffusion_steps", "moe_dtype", "qk_norm"]),
];

/// Every token sees the whole text.
const KEYS: &[KeyRow] = &[
    ("attention.causal", Flag, Made(|_| Some(false.into()))),
    ("tokenizer.ggml.mask_token_id", Count, Any(&["mask_token_id"])),
];
