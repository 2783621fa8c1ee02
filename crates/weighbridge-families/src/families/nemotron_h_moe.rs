//! Nemotron-H with experts, as Nemotron 3 has them.

use super::family::*;
use super::nemotron_h::{
    BEFORE_WIDTHS, KEYS, KEYS_BEFORE, Kind, LAYER_RULES, MIXERS, NEMOTRON_H, ROWS, check, for_kind,
    has_experts, layers,
};

pub(super) const NEMOTRON_H_MOE: Family = Family {
    architecture: "nemotron_h_moe",
    fits: has_experts,
    rows: &[ROWS, MIXERS, EXPERT_ROWS],
    keys: &[BEFORE_WIDTHS, KEYS_BEFORE, GRANITE_SCALES, MIXED_KEYS, KEYS, EXPERT_KEYS],
    refuse: refuse_dense,
    rules: &[RULES, LAYER_RULES, STATE_HEAD_RULES, SPACE_RULES],
    ..NEMOTRON_H
};

const RULES: &[Rule] = &[
    differs(
        &["topk_group"],
        |case, used| *used == case.value("n_group") || is_one(case, &case.value("n_group")),
        "chooses from all groups",
    ),
    free(&["intermediate_size", "moe_shared_expert_overlap", "mtp_hybrid_override_pattern"]),
    free(&[
        "mtp_layers_block_type",
        "num_nextn_predict_layers",
        "moe_latent_size",
        "partial_rotary_factor",
    ]),
];

const EXPERT_ROWS: &[Row] = &[
    ("layers.#.mixer.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mixer.gate.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain),
    ("layers.#.mixer.experts.#.up_proj", &["blk.#.ffn_up_exps"], Expert),
    ("layers.#.mixer.experts.#.down_proj", &["blk.#.ffn_down_exps"], Expert),
    ("layers.#.mixer.shared_experts.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.mixer.shared_experts.down_proj", &["blk.#.ffn_down_shexp"], Plain),
    ("layers.#.mixer.fc1_latent_proj", &["blk.#.ffn_latent_down"], Plain),
    ("layers.#.mixer.fc2_latent_proj", &["blk.#.ffn_latent_up"], Plain),
];

const EXPERT_KEYS: &[KeyRow] = &[
    ("feed_forward_length", Counts, Made(lengths)),
    ("expert_used_count", Count, Needed(&["num_experts_per_tok"])),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("expert_shared_feed_forward_length", Count, Needed(&["moe_shared_expert_intermediate_size"])),
    ("expert_count", Count, Needed(&["n_routed_experts"])),
    ("expert_shared_count", Count, Needed(&["n_shared_experts"])),
    ("expert_weights_norm", Flag, Needed(&["norm_topk_prob"])),
    ("expert_weights_scale", Number, Needed(&["routed_scaling_factor"])),
    ("expert_group_count", Count, Needed(&["n_group"])),
    ("moe_latent_size", Count, Any(&["moe_latent_size"])),
];

fn lengths(settings: &Settings) -> Option<Json> {
    for_kind(settings, Kind::Experts, settings.count("moe_intermediate_size")?)
}

/// llama.cpp has no layers without experts beside those that have some.
fn refuse_dense(settings: &Settings, about: &About<'_>) -> Result<()> {
    check(settings, about)?;
    match layers(settings).is_some_and(|kinds| kinds.contains(&Kind::Dense)) {
        true => {
            Err(not_yet("models of Nemotron-H with experts in some of the feed-forward layers"))
        }
        false => Ok(()),
    }
}
