//! ERNIE 4.5 with experts.

use super::ernie4_5::{BIAS, ERNIE4_5, NO_BIAS};
use super::family::*;

pub(super) const ERNIE4_5_MOE: Family = Family {
    architecture: "ernie4_5-moe",
    classes: &["Ernie4_5_MoeForCausalLM"],
    types: &["ernie4_5_moe"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, EXPERTS, ROWS, SHARED_EXPERTS],
    left_out: &[
        ("mtp_block.", NEXT),
        ("mtp_emb_norm.", NEXT),
        ("mtp_hidden_norm.", NEXT),
        ("mtp_linear_proj.", NEXT),
    ],
    stacks: GATES_FIRST,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [103424, 2560, 12288, 28, 20, 131072],
        key_heads: KeyHeads::Of(4),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 500000.0,
        more: &[
            ("moe_intermediate_size", 1536.0),
            ("moe_k", 6.0),
            ("moe_num_experts", 64.0),
            ("moe_num_shared_experts", 2.0),
            ("moe_layer_start_index", 1.0),
            ("moe_layer_interval", 1.0),
        ],
        ..DEFAULTS
    }),
    back: Some(Back {
        made: &[("expert_count", "moe_num_experts"), ("expert_used_count", "moe_k")],
        flags: BIAS,
        fixed: &[("moe_layer_end_index", |_, _| Some((-1).into()))],
        untold: &[("moe_layer_end_index", ""), ("moe_norm_min", "1e-12")],
        ..BACK
    }),
    mlx: false,
    ..ERNIE4_5
};

const NEXT: &str = "multi-token prediction layer, not used by llama.cpp";

const RULES: &[Rule] = &[
    SILU,
    NO_BIAS,
    fails(
        &["moe_layer_interval"],
        is_one,
        "every layer after the first dense ones has experts in this family",
    ),
    fails(
        &["moe_layer_end_index"],
        |case, last| {
            let last = last.as_i64().unwrap_or(-1);
            last == -1 || u64::try_from(last).is_ok_and(|last| last + 1 >= case.layers())
        },
        "every layer after the first dense ones has experts in this family",
    ),
    differs(&["moe_gate"], |_, gate| gate.is_null() || gate == "topk", "takes the best experts"),
    // A smallest sum of weights, and what only matters in training.
    free(&["moe_norm_min", "moe_capacity", "moe_use_aux_free", "num_nextn_predict_layers"]),
];

const ROWS: &[Row] = &[
    ("layers.#.mlp.moe_statics.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain),
    ("layers.#.mlp.gate.moe_statics.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("expert_count", Count, Needed(&["moe_num_experts"])),
    ("expert_used_count", Count, Needed(&["moe_k"])),
    ("interleave_moe_layer_step", Count, Needed(&["moe_layer_interval"])),
    ("leading_dense_block_count", Count, Needed(&["moe_layer_start_index"])),
    ("expert_feed_forward_length", Count, Any(&["moe_intermediate_size"])),
    ("expert_shared_count", Count, Any(&["moe_num_shared_experts"])),
    ("expert_shared_feed_forward_length", Count, Made(shared_length)),
];

/// The inner size of shared experts. The converter divides another size by the number of key heads,
/// which gives the same for published models only.
fn shared_length(settings: &Settings) -> Option<Json> {
    let shared = settings.count("moe_num_shared_experts").filter(|count| *count > 0)?;
    settings.count("moe_intermediate_size")?.checked_mul(shared).map(Json::from)
}
