//! LFM2 with experts.

use super::family::*;
use super::lfm2::LFM2;

pub(super) const LFM2_MOE: Family = Family {
    architecture: "lfm2moe",
    classes: &["Lfm2MoeForCausalLM"],
    types: &["lfm2_moe"],
    rows: &[SHORT_TRUNK, SHORT_MIXERS, FEED_FORWARD],
    keys: &[BASE, KEYS, SHORT_KEYS],
    refuse: lists_kinds,
    rules: &[RULES, SHORT_RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [65536, 2048, 7168, 32, 32, 128_000],
        key_heads: KeyHeads::Of(8),
        epsilon: ("norm_eps", 1e-5),
        theta: 1_000_000.0,
        more: &[
            ("conv_L_cache", 3.0),
            ("moe_intermediate_size", 1792.0),
            ("num_dense_layers", 2.0),
            ("num_experts_per_tok", 4.0),
            ("num_experts", 32.0),
            ("routed_scaling_factor", 1.0),
        ],
        flags: &[("use_expert_bias", true), ("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    back: None,
    ..LFM2
};

const RULES: &[Rule] = &[
    fails(
        &["use_expert_bias"],
        |case, _| case.has(".exp_probs_b.bias") || !case.has("_exps.weight"),
        "experts of this family are chosen with a bias",
    ),
    differs(&["norm_topk_prob"], on, "normalizes the weights of experts"),
    differs(&["routed_scaling_factor"], is_one, "does not scale experts in this family"),
    free(&["tie_embedding"]),
];

const FEED_FORWARD: &[Row] = &[
    ("layers.#.feed_forward.w1", &["blk.#.ffn_gate"], Plain),
    ("layers.#.feed_forward.w3", &["blk.#.ffn_up"], Plain),
    ("layers.#.feed_forward.w2", &["blk.#.ffn_down"], Plain),
    ("layers.#.feed_forward.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.feed_forward.expert_bias", &["blk.#.exp_probs_b.bias"], Plain),
    ("layers.#.feed_forward.experts.#.w1", &["blk.#.ffn_gate_exps"], Expert),
    ("layers.#.feed_forward.experts.#.w3", &["blk.#.ffn_up_exps"], Expert),
    ("layers.#.feed_forward.experts.#.w2", &["blk.#.ffn_down_exps"], Expert),
];

const KEYS: &[KeyRow] = &[
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("leading_dense_block_count", Count, Needed(&["num_dense_layers"])),
    ("expert_gating_func", Count, Made(|_| Some(2.into()))),
];

/// Refuses configs without kinds of layers, for which this class has no default.
fn lists_kinds(settings: &Settings, about: &About<'_>) -> Result<()> {
    match listed_layers(settings) {
        Some(_) => tells_layers(settings, about),
        None => Err(Error::malformed("config.json has no `layer_types`")),
    }
}
