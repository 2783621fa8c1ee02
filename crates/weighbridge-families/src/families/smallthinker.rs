//! SmallThinker.

use super::family::*;

pub(super) const SMALLTHINKER: Family = Family {
    architecture: "smallthinker",
    classes: &["SmallThinkerForCausalLM"],
    types: &["smallthinker"],
    rows: &[TRUNK, ATTENTION, TWO_NORMS, ROWS],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    NO_ATTENTION_BIAS,
    differs(
        &["sliding_window_layout"],
        |case, layout| !has_window(case.settings) || every_fourth_is_open(layout),
        "lets the first of every four layers see the whole text, and gives the others a window",
    ),
    differs(
        &["sliding_window_size"],
        |case, size| !has_window(case.settings) || is_number(size, 4096.0) || is_long(case, size),
        "has windows of 4096 tokens",
    ),
    differs(
        &["rope_layout"],
        |case, layout| match has_window(case.settings) {
            true => every_fourth_is_open(layout),
            false => layout.as_array().is_none_or(|layers| layers.iter().all(|has| *has == 1)),
        },
        "gives the first of every four layers no rotary positions where others have a window",
    ),
    differs(&["norm_topk_prob"], on, "normalizes the weights of experts"),
    differs(&["moe_enable_early_router"], on, "chooses experts before attention"),
    differs(&["moe_enable_secondary_experts"], off, "has no secondary experts"),
    fails(
        &["moe_layer_layout"],
        |_, layers| layers.as_array().is_none_or(|layers| layers.iter().all(|has| *has == 1)),
        "every layer of this family has experts",
    ),
    // Experts that the model does not have.
    free(&["moe_num_secondary_experts", "moe_secondary_expert_size", "moe_shared_primary_experts"]),
    free(&["hidden_act", "sliding_window_layout", "sliding_window_size"]),
];

/// Whether a layer has a window.
fn has_window(settings: &Settings) -> bool {
    let layout = settings.find(&["sliding_window_layout"]).and_then(Json::as_array);
    let is_any = layout.is_some_and(|layers| layers.iter().any(|has| *has != 0));
    is_any && settings.count("sliding_window_size").is_some_and(|size| size > 0)
}

fn every_fourth_is_open(layout: &Json) -> bool {
    let open = |(layer, has): (u64, &Json)| (*has == 0) == layer.is_multiple_of(4);
    layout.as_array().is_none_or(|layers| (0..).zip(layers).all(open))
}

/// Whether this window and that of llama.cpp are longer than every text.
fn is_long(case: &Case<'_>, size: &Json) -> bool {
    case.is_beyond_context(size) && case.is_beyond_context(&4096.into())
}

const ROWS: &[Row] = &[
    ("layers.#.block_sparse_moe.primary_router", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.block_sparse_moe.experts.#.gate", &["blk.#.ffn_gate_exps"], Expert),
    ("layers.#.block_sparse_moe.experts.#.up", &["blk.#.ffn_up_exps"], Expert),
    ("layers.#.block_sparse_moe.experts.#.down", &["blk.#.ffn_down_exps"], Expert),
];

const KEYS: &[KeyRow] = &[
    ("expert_count", Count, Any(&["moe_num_primary_experts"])),
    ("expert_used_count", Count, Any(&["moe_num_active_primary_experts"])),
    ("expert_feed_forward_length", Count, Any(&["moe_ffn_hidden_size"])),
    ("feed_forward_length", Count, Any(&["moe_ffn_hidden_size"])),
    ("expert_gating_func", Count, Made(function)),
    ("attention.sliding_window", Count, Made(window)),
];

/// Softmax or sigmoid.
fn function(settings: &Settings) -> Option<Json> {
    let softmax = settings.find(&["moe_primary_router_apply_softmax"]);
    Some(if softmax.is_some_and(|applies| *applies == true) { 1.into() } else { 2.into() })
}

fn window(settings: &Settings) -> Option<Json> {
    settings.find(&["sliding_window_size"]).filter(|_| has_window(settings)).cloned()
}
