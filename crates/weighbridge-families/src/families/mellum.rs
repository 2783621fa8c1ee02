//! Mellum 2.

use super::family::*;

pub(super) const MELLUM: Family = Family {
    architecture: "mellum",
    classes: &["MellumForCausalLM"],
    types: &["mellum"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, TWO_NORMS, EXPERTS],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [98304, 2304, 7168, 28, 32, 131072],
        key_heads: KeyHeads::Of(4),
        head: Head::Of(128),
        theta: 500000.0,
        local_theta: Some(10000.0),
        more: &[
            ("moe_intermediate_size", 896.0),
            ("num_experts_per_tok", 8.0),
            ("num_experts", 64.0),
            ("sliding_window", 1024.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    NEEDS_HEAD,
    UNSCALED_WINDOWS,
    differs(
        &["sliding_attention.rope_theta"],
        super::olmo3::has_one_base,
        "uses one base for all layers",
    ),
    differs(&["norm_topk_prob"], stated_on, "normalizes the weights of experts"),
    fails(
        &["mlp_layer_types"],
        |_, kinds| kinds.as_array().is_none_or(|kinds| kinds.iter().all(|kind| *kind == "sparse")),
        "every layer of this family has experts",
    ),
    // The class takes no notice of the switch.
    free(&["num_experts", "max_window_layers"]),
    // Layers that predict further tokens, which files do not have.
    free(&["num_mtp_layers", "num_nextn_predict_layers", "mtp_layer_types", "mtp_mlp_layer_types"]),
];

const KEYS: &[KeyRow] = &[
    ("expert_feed_forward_length", Count, Any(&["moe_intermediate_size"])),
    ("attention.sliding_window", Count, Made(window)),
    ("attention.sliding_window_pattern", FlagList, Made(windows)),
];

/// The window, unless it is switched off.
fn window(settings: &Settings) -> Option<Json> {
    let is_off = settings.find(&["use_sliding_window"]).is_some_and(|is_used| *is_used == false);
    settings.find(&["sliding_window"]).filter(|_| !is_off).cloned()
}

/// Which layers have it; none, where the config does not list them.
fn windows(settings: &Settings) -> Option<Json> {
    window(settings)?;
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    Some(match listed_layers(settings) {
        Some(kinds) => kinds.iter().map(|kind| kind == "sliding_attention").collect(),
        None => (0..layers).map(|_| false).collect(),
    })
}
