//! GLM-4.5 and 4.6.

use super::family::*;

pub(super) const GLM4_MOE: Family = Family {
    architecture: "glm4moe",
    classes: &["Glm4MoeForCausalLM"],
    types: &["glm4_moe"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, NORMS_BETWEEN, EXPERTS, SHARED_EXPERTS, NEXTN],
    predicts: true,
    counts_next: Some("num_nextn_predict_layers"),
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [151552, 4096, 10944, 46, 96, 131072],
        key_heads: KeyHeads::Of(8),
        epsilon: ("rms_norm_eps", 1e-5),
        rotated: Some(0.5),
        more: &[
            ("moe_intermediate_size", 1408.0),
            ("num_experts_per_tok", 8.0),
            ("n_shared_experts", 1.0),
            ("n_routed_experts", 128.0),
            ("routed_scaling_factor", 1.0),
            ("n_group", 1.0),
            ("topk_group", 1.0),
            ("first_k_dense_replace", 1.0),
            ("num_nextn_predict_layers", 1.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    tokenizer: SPECIAL,
    back: Some(Back {
        rotated: Some("partial_rotary_factor"),
        flags: &[
            ("attention_bias", &[Q, K, V]),
            ("use_qk_norm", &["blk.#.attn_q_norm.weight", "blk.#.attn_k_norm.weight"]),
        ],
        // Without these entries llama.cpp makes no groups of experts, and leaves weights as they are.
        fixed: &[
            ("num_hidden_layers", layers_of_the_model),
            ("n_group", |_, config| unless_stated(config, "n_group", 1.into())),
            ("topk_group", |_, config| unless_stated(config, "topk_group", 1.into())),
            ("norm_topk_prob", |_, config| unless_stated(config, "norm_topk_prob", false.into())),
        ],
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

/// Tokens that no file calls special.
pub(super) const SPECIAL: Tokenizer = Tokenizer::BytePairs(&[
    ("bos", "[gMASK]"),
    ("eot", "<|user|>"),
    ("unk", "<|endoftext|>"),
    ("eom", "<|observation|>"),
]);

pub(super) const RULES: &[Rule] = &[SILU, free(&["attention_bias", "use_qk_norm"])];

pub(super) const KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    ("rope.dimension_count", Count, Made(rotated_width)),
    ("expert_count", Count, Any(&["n_routed_experts"])),
    ("expert_feed_forward_length", Count, Any(&["moe_intermediate_size"])),
    ("expert_shared_count", Count, Any(&["n_shared_experts"])),
    ("leading_dense_block_count", Count, Any(&["first_k_dense_replace"])),
    // Sigmoid, whatever the config says.
    ("expert_gating_func", Count, Made(|_| Some(2.into()))),
    ("expert_weights_scale", Number, Any(&["routed_scaling_factor"])),
    ("expert_weights_norm", Flag, Any(&["norm_topk_prob"])),
    ("nextn_predict_layers", Count, Any(&["num_nextn_predict_layers"])),
];

fn unless_stated(config: &Config, key: &str, value: Json) -> Option<Json> {
    (!config.contains_key(key)).then_some(value)
}

/// All layers but those that predict further tokens.
pub(super) fn layers_of_the_model(told: &Told<'_>, _: &Config) -> Option<Json> {
    let count = |key: &str| told.own(key)?.as_u64();
    let next = count("nextn_predict_layers").unwrap_or(0);
    count("block_count")?.checked_sub(next).map(Json::from)
}
