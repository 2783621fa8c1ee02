//! Hunyuan 3, which Tencent calls Hy3.

use serde_json::json;

use super::family::*;
use super::glm4_moe::layers_of_the_model;

pub(super) const HY_V3: Family = Family {
    architecture: "hy_v3",
    classes: &["HYV3ForCausalLM"],
    types: &["hy_v3"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, ROWS, EXPERTS, NEXTN],
    predicts: true,
    counts_next: Some(NEXT),
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [120832, 4096, 13312, 80, 64, 131072],
        key_heads: KeyHeads::Of(8),
        head: Head::Of(128),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 11158840.0,
        more: &[
            ("num_experts", 192.0),
            ("num_experts_per_tok", 8.0),
            ("num_shared_experts", 1.0),
            ("moe_intermediate_size", 1536.0),
            ("router_scaling_factor", 2.826),
        ],
        ..DEFAULTS
    }),
    back: Some(Back {
        made: &[
            ("expert_shared_feed_forward_length", "num_shared_experts"),
            ("expert_weights_norm", "route_norm"),
            ("nextn_predict_layers", NEXT),
        ],
        flags: &[("attention_bias", &[Q, K, V, O]), ("mlp_bias", &[GATE, UP, DOWN])],
        fixed: &[
            ("num_hidden_layers", layers_of_the_model),
            ("num_shared_experts", shared_experts),
            ("mlp_layer_types", kinds_by_experts),
        ],
        untold: &[
            ("enable_moe_fp32_combine", "true"),
            ("mlp_layer_types", "dense in the first layer, sparse in the others"),
        ],
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const NEXT: &str = "num_nextn_predict_layers";

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    NO_MLP_BIAS,
    fails(
        &["qk_norm"],
        |case, _| case.has(".attn_q_norm.weight") || !case.has(".attn_q.weight"),
        "queries and keys of this family are normed",
    ),
    differs(
        &["route_norm"],
        on,
        "leaves the weights of experts as they are, and the class of transformers normalizes them",
    ),
    differs(&["moe_router_use_sigmoid"], on, "chooses experts by a sigmoid"),
    // What weights tell, and the precision of parts.
    free(&["mlp_layer_types", "first_k_dense_replace", "expert_hidden_dim"]),
    free(&["moe_router_enable_expert_bias", "enable_moe_fp32_combine", "enable_lm_head_fp32"]),
    free(&["enable_attention_fp32_softmax", "moe_layer_num_skipped", "output_router_logits"]),
];

const ROWS: &[Row] = &[
    ("layers.#.mlp.router.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mlp.expert_bias", &["blk.#.exp_probs_b"], Plain),
    ("layers.#.mlp.shared_mlp.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.mlp.shared_mlp.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.mlp.shared_mlp.down_proj", &["blk.#.ffn_down_shexp"], Plain),
    ("layers.#.final_layernorm", &["blk.#.nextn.shared_head_norm"], Norm),
    // In memory.
    ("layers.#.mlp.e_score_correction_bias", &["blk.#.exp_probs_b"], Plain),
    ("layers.#.mlp.shared_experts.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.mlp.shared_experts.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.mlp.shared_experts.down_proj", &["blk.#.ffn_down_shexp"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("expert_shared_feed_forward_length", Count, Made(shared_length)),
    ("expert_weights_norm", Flag, Made(|settings| or(settings, "route_norm", true.into()))),
    ("expert_weights_scale", Number, Any(&["router_scaling_factor"])),
    // Sigmoid, whatever the config says.
    ("expert_gating_func", Count, Made(|_| Some(2.into()))),
    ("nextn_predict_layers", Count, Made(|settings| nonzero(settings, NEXT))),
];

fn or(settings: &Settings, key: &str, otherwise: Json) -> Option<Json> {
    Some(settings.find(&[key]).cloned().unwrap_or(otherwise))
}

/// The inner size of shared experts.
fn shared_length(settings: &Settings) -> Option<Json> {
    let shared = settings.count("num_shared_experts").unwrap_or(1);
    settings.count("moe_intermediate_size")?.checked_mul(shared).map(Json::from)
}

/// How many shared experts their inner size makes.
fn shared_experts(told: &Told<'_>, _: &Config) -> Option<Json> {
    let length = |key: &str| told.own(key)?.as_u64();
    let each = length("expert_feed_forward_length")?;
    length("expert_shared_feed_forward_length")?.checked_div(each).map(Json::from)
}

/// Which layers have experts.
fn kinds_by_experts(told: &Told<'_>, config: &Config) -> Option<Json> {
    let layers = config.get("num_hidden_layers")?.as_u64().filter(|all| *all <= MOST_LAYERS)?;
    let dense = told.layers_with("ffn_down.weight");
    let kind = |layer: u64| if dense.contains(&layer) { "dense" } else { "sparse" };
    Some(json!((0..layers).map(kind).collect::<Vec<_>>()))
}
