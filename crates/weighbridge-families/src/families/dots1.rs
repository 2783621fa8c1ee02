//! dots.llm1.

use super::family::*;

pub(super) const DOTS1: Family = Family {
    architecture: "dots1",
    classes: &["Dots1ForCausalLM"],
    types: &["dots1"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, EXPERTS, SHARED_EXPERTS],
    keys: &[BASE, EXPERT_LENGTHS, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [152064, 4608, 10944, 62, 32, 2048],
        key_heads: KeyHeads::Of(32),
        more: &[
            ("moe_intermediate_size", 1408.0),
            ("n_group", 1.0),
            ("topk_group", 1.0),
            ("first_k_dense_replace", 0.0),
            ("routed_scaling_factor", 1.0),
        ],
        flags: &[("norm_topk_prob", false)],
        ..DEFAULTS
    }),
    back: Some(Back {
        // With a window, the class takes one in some layers.
        fixed: &[("sliding_window", |_, _| Some(Json::Null))],
        untold: &[
            ("attention_bias", "false"),
            ("layer_types", "full_attention in every layer"),
            ("sliding_window", ""),
        ],
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    NEEDS_HEAD,
    differs(
        &["sliding_window", "max_window_layers", "layer_types"],
        sees_all,
        "lets every layer see the whole text, beyond the window too",
    ),
    fails(
        &["num_key_value_heads"],
        |case, heads| heads.is_null() || *heads == case.value("num_attention_heads"),
        "this family has a key head for each query head",
    ),
    free(&["moe_layer_freq", "use_sliding_window"]),
];

/// Whether no layer has a window that matters.
fn sees_all(case: &Case<'_>, window: &Json) -> bool {
    let is_windowed = match case.kinds() {
        Some(kinds) => kinds.iter().any(|kind| kind == "sliding_attention"),
        None => case.settings.count("max_window_layers").unwrap_or(62) < case.layers(),
    };
    !is_windowed || off(case, window) || case.is_beyond_context(window)
}

const KEYS: &[KeyRow] = &[
    ("leading_dense_block_count", Count, Needed(&["first_k_dense_replace"])),
    ("expert_shared_count", Count, Needed(&["n_shared_experts"])),
    ("expert_weights_scale", Number, Needed(&["routed_scaling_factor"])),
    ("expert_weights_norm", Flag, Needed(&["norm_topk_prob"])),
    // The class has a sigmoid, whatever a config says or leaves out.
    ("expert_gating_func", Count, Made(|_| Some(2.into()))),
];
