//! LLaDA with experts, a diffusion model.

use super::family::*;

pub(super) const LLADA_MOE: Family = Family {
    architecture: "llada-moe",
    classes: &["LLaDAMoEModelLM", "LLaDAMoEModel"],
    types: &["llada_moe"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, TWO_NORMS, EXPERTS],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    HEADS_SHARE,
    NO_ATTENTION_BIAS,
    NEEDS_HEAD,
    differs(&["clip_qkv"], off, "does not clip queries, keys and values in this family"),
    differs(&["norm_topk_prob"], off, "takes the weights of experts as they are"),
    differs(&["routed_scaling_factor"], is_one, "multiplies what experts say by one"),
    differs(
        &["moe_router_score_function"],
        |_, function| function.is_null() || function == "softmax",
        "chooses experts by a softmax",
    ),
    differs(&["moe_router_enable_expert_bias"], off, "chooses experts without a bias"),
    differs(&["router_num_group"], off, "has no groups of experts in this family"),
    differs(&["router_topk_group"], off, "has no groups of experts in this family"),
    differs(&["shared_expert_intermediate_size"], off, "has no shared expert in this family"),
    differs(&["partial_rotary_factor"], is_one, "rotates all of a head"),
    fails(
        &["qk_layernorm"],
        |case, _| case.has(".attn_q_norm.weight") || !case.has(".attn_q.weight"),
        "queries and keys of this family are normed",
    ),
    fails(
        &["moe_layer_freq"],
        |_, layers| layers.as_array().is_none_or(|layers| layers.iter().all(|has| *has == 1)),
        "every layer of this family has experts",
    ),
    free(&["intermediate_size"]),
];

const KEYS: &[KeyRow] = &[
    ("expert_feed_forward_length", Count, Any(&["expert_intermediate_size"])),
    // That of the one published vocabulary.
    ("tokenizer.ggml.mask_token_id", Count, Made(|_| Some(156895.into()))),
    // Every token sees the whole text.
    ("attention.causal", Flag, Made(|_| Some(false.into()))),
    ("diffusion.shift_logits", Flag, Made(|_| Some(false.into()))),
];
