//! DeepSeek's first models with experts.

use super::family::*;

pub(super) const DEEPSEEK: Family = Family {
    architecture: "deepseek",
    classes: &["DeepseekForCausalLM"],
    types: &["deepseek"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, EXPERTS, SHARED_EXPERTS],
    pairs: true,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    scalings: &[],
    tokenizer: Tokenizer::PiecesOrPairs,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    HEADS_SHARE,
    NO_ATTENTION_BIAS,
    differs(&["norm_topk_prob"], off, "takes the weights of experts as they are"),
    differs(
        &["scoring_func"],
        |_, function| function.is_null() || function == "softmax",
        "chooses experts by a softmax",
    ),
    differs(&["routed_scaling_factor"], is_one, "multiplies what experts say by one"),
    differs(&["moe_layer_freq"], is_one, "has experts in every layer after the first dense ones"),
];

const KEYS: &[KeyRow] = &[
    ("rope.dimension_count", Count, Made(|settings| settings.head_width().map(Json::from))),
    ("rope.scaling.type", Text, Made(|_| Some("none".into()))),
    ("leading_dense_block_count", Count, Needed(&["first_k_dense_replace"])),
    VOCABULARY,
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("expert_weights_scale", Number, Made(|_| Some(1.0.into()))),
    ("expert_count", Count, Needed(&["n_routed_experts"])),
    ("expert_shared_count", Count, Needed(&["n_shared_experts"])),
];
