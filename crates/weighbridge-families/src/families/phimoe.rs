//! Phi-3.5 with experts.

use super::family::*;
use super::phi3::{self, PHI3};

pub(super) const PHIMOE: Family = Family {
    architecture: "phimoe",
    classes: &["PhiMoEForCausalLM", "PhimoeForCausalLM"],
    types: &["phimoe"],
    rows: &[TRUNK, ATTENTION, TWO_NORMS, MIXTRAL_EXPERTS, ROWS],
    keys: &[phi3::KEYS, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [32064, 4096, 6400, 32, 32, 131072],
        key_heads: KeyHeads::Of(8),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 1000000.0,
        more: &[("num_experts_per_tok", 2.0), ("num_local_experts", 16.0)],
        ..DEFAULTS
    }),
    back: Some(Back {
        made: &[("attention.sliding_window", "sliding_window")],
        flags: &[
            ("attention_bias", &[Q, K, V, O]),
            ("lm_head_bias", &["output.bias"]),
            ("", &["blk.#.attn_norm.bias", "blk.#.ffn_norm.bias", "output_norm.bias"]),
        ],
        fixed: &[
            ("original_max_position_embeddings", original_context),
            ("rope_scaling", with_scales),
        ],
        untold: &[("input_jitter_noise", "0.0"), ("router_jitter_noise", "0.01")],
        ..BACK
    }),
    mlx: false,
    ..PHI3
};

const RULES: &[Rule] = &[
    SILU,
    NO_WINDOW,
    HEADS_SHARE,
    fails(
        &["attention_bias"],
        |case, _| case.has(".attn_output.bias") || !case.has(".attn_q.weight"),
        "attention of this family has biases",
    ),
    fails(
        &["lm_head_bias"],
        |case, _| case.has("output.bias") || !case.has(".attn_q.weight"),
        "the output head of this family has a bias",
    ),
    NEEDS_HEAD,
    differs(
        &["rope_scaling.short_mscale", "rope_scaling.long_mscale"],
        |_, scale| scale.is_null(),
        "computes by how much attention grows with the context",
    ),
    // The class gives each of two experts a weight of its own, of nearly one mostly.
    differs(
        &["router_jitter_noise"],
        |_, _| false,
        "gives experts weights that sum to one, unlike the sparse mixer of the class",
    ),
    free(&["input_jitter_noise"]),
];

const ROWS: &[Row] = &[
    ("/lm_head", &["output"], Plain),
    // As transformers has them in memory.
    ("layers.#.mlp.router", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mlp.experts.gate_up_proj", GATE_UP_EXPERTS, Stacked),
    ("layers.#.mlp.experts.down_proj", &["blk.#.ffn_down_exps"], Experts),
];

const KEYS: &[KeyRow] = &[
    ("expert_used_count", Count, Needed(&["num_experts_per_tok", "num_experts_per_token"])),
    ("expert_count", Count, Needed(&["num_local_experts", "num_experts"])),
];

fn original_context(told: &Told<'_>, _: &Config) -> Option<Json> {
    as_json(&told.own("rope.scaling.original_context_length")?)
}

/// The class needs by how much attention grows in short contexts and in long ones. Files have one number
/// for both.
fn with_scales(told: &Told<'_>, config: &Config) -> Option<Json> {
    let mut scaling = config.get("rope_scaling")?.clone();
    let scale = as_json(&told.own("rope.scaling.attn_factor")?)?;
    for key in ["short_mscale", "long_mscale"] {
        scaling[key] = scale.clone();
    }
    scaling["original_max_position_embeddings"] = original_context(told, config)?;
    Some(scaling)
}
