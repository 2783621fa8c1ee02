//! K-EXAONE: EXAONE 4 with experts, and norms in other places.

use serde_json::json;

use super::exaone4::{PATTERN, windows};
use super::family::*;
use super::glm4_moe::layers_of_the_model;
use super::glm4_moe_lite::kinds_of_layers;

pub(super) const EXAONE_MOE: Family = Family {
    architecture: "exaone-moe",
    classes: &["ExaoneMoeForCausalLM", "ExaoneMoEForCausalLM"],
    types: &["exaone_moe"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, EXPERTS, ROWS, SHARED_EXPERTS, NEXTN],
    predicts: true,
    counts_next: Some(NEXT),
    keys: &[BASE, KEYS],
    computed: llama3_factors,
    refuse: refuse_repeated,
    rules: &[RULES, ROPE],
    scalings: &["llama3"],
    defaults: Some(Defaults {
        sizes: [102400, 4096, 16384, 32, 32, 2048],
        key_heads: KeyHeads::Of(32),
        epsilon: ("rms_norm_eps", 1e-5),
        more: &[
            ("sliding_window", 4096.0),
            ("first_k_dense_replace", 1.0),
            ("moe_intermediate_size", 1024.0),
            ("num_experts", 64.0),
            ("num_experts_per_tok", 8.0),
            ("num_shared_experts", 1.0),
            ("routed_scaling_factor", 2.5),
            ("n_group", 1.0),
            ("topk_group", 1.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    back: Some(Back {
        refuse: refuse_beside,
        made: &[("nextn_predict_layers", NEXT)],
        fixed: &[
            ("num_hidden_layers", layers_of_the_model),
            ("layer_types", layers_with_windows),
            ("mlp_layer_types", kinds_of_layers),
        ],
        untold: &[("sliding_window_pattern", "4")],
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const NEXT: &str = "num_nextn_predict_layers";

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    NEEDS_HEAD,
    fails(&["sliding_window"], |case, window| !off(case, window), "a file has to state a window"),
    fails(
        &["mlp_layer_types", "is_moe_layer"],
        |case, _| follows(case),
        "all layers after the first dense ones have experts",
    ),
    differs(
        &["scoring_func"],
        |_, function| function.is_null() || function == "sigmoid",
        "chooses experts by another function than the class",
    ),
    free(&["sliding_window_pattern", "topk_method", "first_last_k_dense_replace", "is_moe_layer"]),
    free(&["mtp_share_layers", "mtp_loss_weight", "moe_router_load_balancing_type"]),
];

/// Whether the layers with experts are those behind the dense ones.
fn follows(case: &Case<'_>) -> bool {
    let dense = case.settings.count("first_k_dense_replace").unwrap_or(0);
    let has = |kind: &Json| *kind == "sparse" || *kind == true;
    let follows = |kinds: &Vec<Json>| {
        (0..).zip(kinds).all(|(layer, kind): (u64, _)| has(kind) == (layer >= dense))
    };
    let lists = ["mlp_layer_types", "is_moe_layer"].map(|key| case.value(key));
    lists.iter().filter_map(Json::as_array).all(follows)
}

const ROWS: &[Row] =
    &[("layers.#.mlp.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain)];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    VOCABULARY,
    ("attention.sliding_window", Count, Any(&["sliding_window"])),
    (PATTERN, FlagList, Made(windows)),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("expert_shared_count", Count, Needed(&["num_shared_experts"])),
    ("expert_shared_feed_forward_length", Count, Made(shared_length)),
    ("expert_weights_scale", Number, Needed(&["routed_scaling_factor"])),
    ("expert_weights_norm", Flag, Needed(&["norm_topk_prob"])),
    ("leading_dense_block_count", Count, Needed(&["first_k_dense_replace"])),
    ("nextn_predict_layers", Count, Made(|settings| or_zero(settings, NEXT))),
    ("rope.scaling.type", Text, Made(|_| Some(json!("none")))),
    // The class has a sigmoid. llama.cpp takes no function for granted.
    ("expert_gating_func", Count, Made(|settings| gating(settings).or(Some(2.into())))),
];

/// The inner size of shared experts.
fn shared_length(settings: &Settings) -> Option<Json> {
    let shared = settings.count("num_shared_experts")?;
    settings.count("moe_intermediate_size")?.checked_mul(shared).map(Json::from)
}

/// Some weights of the layers that predict further tokens would stand in the file several times.
fn refuse_repeated(settings: &Settings, _: &About<'_>) -> Result<()> {
    if settings.count(NEXT).unwrap_or(0) > 1 {
        return Err(not_yet("next-token prediction layers that share weights"));
    }
    Ok(())
}

/// Layers beside the model have names of their own in repositories.
fn refuse_beside(told: &Told<'_>) -> Result<()> {
    match told.own("nextn_predict_layers").and_then(|next| next.as_u64()) {
        None | Some(0) => Ok(()),
        _ => Err(Error::unsupported("restoring next-token prediction layers is not supported yet")),
    }
}
