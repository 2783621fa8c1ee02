//! North, by Cohere: Command R7B with experts.

use serde_json::json;

use super::family::*;

pub(super) const COHERE2_MOE: Family = Family {
    architecture: "cohere2moe",
    classes: &["Cohere2MoeForCausalLM"],
    types: &["cohere2_moe"],
    rows: &[TRUNK, ATTENTION, MLP, ONE_NORM, EXPERTS, SHARED_EXPERTS, NEXTN],
    tied: true,
    predicts: true,
    counts_next: Some(NEXT),
    keys: &[BASE, KEYS],
    refuse,
    rules: &[RULES, ROPE],
    scalings: &[],
    defaults: Some(Defaults {
        sizes: [256000, 8192, 22528, 40, 64, 8192],
        head: Head::Of(128),
        epsilon: ("layer_norm_eps", 1e-5),
        more: &[
            ("logit_scale", 0.0625),
            ("sliding_window", 4096.0),
            ("num_experts_per_tok", 2.0),
            ("num_experts", 8.0),
            ("sliding_window_pattern", 4.0),
            ("prefix_dense_sliding_window_pattern", 1.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    mlx: false,
    ..DECODER
};

const NEXT: &str = "num_nextn_predict_layers";
const STRATEGY: &str = "shared_expert_combination_strategy";

const RULES: &[Rule] = &[
    SILU,
    free(&["attention_bias", STRATEGY, "first_k_dense_replace"]),
    free(&["sliding_window_pattern", "prefix_dense_sliding_window_pattern"]),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    LOGIT_SCALE,
    WINDOW,
    ("attention.sliding_window_pattern", FlagList, Made(windows)),
    VOCABULARY,
    ("expert_feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("leading_dense_block_count", Count, Made(|settings| Some(dense(settings).into()))),
    ("expert_weights_norm", Flag, Needed(&["norm_topk_prob"])),
    ("expert_shared_count", Count, Made(|settings| nonzero(settings, "num_shared_experts"))),
    ("expert_shared_feed_forward_length", Count, Made(shared_length)),
    ("nextn_predict_layers", Count, Made(|settings| nonzero(settings, NEXT))),
    ("rope.dimension_count", Count, Needed(&["head_dim"])),
    ("rope.scaling.type", Text, Made(|_| Some(json!("none")))),
    // The class takes a softmax, and llama.cpp a sigmoid, where nothing is said.
    ("expert_gating_func", Count, Made(|settings| gating(settings).or(Some(1.into())))),
];

/// How many layers have no experts, at the start.
fn dense(settings: &Settings) -> u64 {
    match settings.find(&["mlp_layer_types"]).and_then(Json::as_array) {
        Some(kinds) => kinds.iter().take_while(|kind| **kind == "dense").count() as u64,
        None => settings.count("first_k_dense_replace").unwrap_or(0),
    }
}

/// Which layers have a window: those that the config lists, or all but every so many. The count starts
/// again at the first layer with experts.
fn windows(settings: &Settings) -> Option<Json> {
    if let Some(kinds) = listed_layers(settings).filter(|kinds| kinds.len() as u64 <= MOST_LAYERS) {
        return Some(kinds.iter().map(|kind| kind == "sliding_attention").collect());
    }
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let first = settings.count("first_k_dense_replace").unwrap_or(0);
    let period = |key: &str| settings.count(key).filter(|period| *period > 0);
    let (own, before) =
        (period("sliding_window_pattern")?, period("prefix_dense_sliding_window_pattern")?);
    let has_window = |layer: u64| match layer.checked_sub(first) {
        Some(layer) => !(layer + 1).is_multiple_of(own),
        None => !(layer + 1).is_multiple_of(before),
    };
    Some((0..layers).map(has_window).collect())
}

/// The inner size of shared experts, if there are any.
fn shared_length(settings: &Settings) -> Option<Json> {
    let shared = settings.count("num_shared_experts").filter(|count| *count > 0)?;
    settings.count("intermediate_size")?.checked_mul(shared).map(Json::from)
}

fn refuse(settings: &Settings, _: &About<'_>) -> Result<()> {
    let is_average = settings.find(&[STRATEGY]).is_none_or(|strategy| *strategy == "average");
    if !is_average && settings.count("num_shared_experts").unwrap_or(0) > 0 {
        return Err(not_yet("shared experts that are not averaged"));
    }
    if settings.find(&["attention_bias"]).is_some_and(|has| *has == true) {
        return Err(not_yet("models of this family with biases"));
    }
    Ok(())
}
