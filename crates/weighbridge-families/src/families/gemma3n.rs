//! Gemma 3n: several states side by side, embeddings for each layer, and shared keys and values.

use super::family::*;
use super::gemma3::GEMMA3;

pub(super) const GEMMA3N: Family = Family {
    architecture: "gemma3n",
    classes: &["Gemma3nForConditionalGeneration", "Gemma3nForCausalLM"],
    types: &["gemma3n_text", "gemma3n"],
    prefix: "model.language_model.",
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, FOUR_NORMS, ROWS],
    gguf: &[GGUF, GGUF_FUSED, GGUF_STATES],
    norm_add: 0.0,
    cuts_embedding: false,
    padded: &["token_embd.weight", "per_layer_token_embd.weight"],
    keys: &[BASE, KEYS],
    refuse: refuse_other_states,
    rules: &[RULES, ROPE],
    scalings: &[],
    defaults: Some(Defaults {
        sizes: [262400, 2048, 16384, 35, 8, 32768],
        key_heads: KeyHeads::Of(2),
        head: Head::Of(256),
        theta: 1000000.0,
        local_theta: Some(10000.0),
        more: &[
            ("sliding_window", 512.0),
            ("final_logit_softcapping", 30.0),
            ("hidden_size_per_layer_input", 256.0),
            ("altup_active_idx", 0.0),
            ("altup_num_inputs", 4.0),
            ("num_kv_shared_layers", 15.0),
            ("laurel_rank", 64.0),
        ],
        ..DEFAULTS
    }),
    back: None,
    mlx: false,
    ..GEMMA3
};

const RULES: &[Rule] = &[
    differs(&["hidden_activation"], gelu, "uses gelu"),
    NO_ATTENTION_BIAS,
    UNSCALED_WINDOWS,
    differs(&["laurel_rank"], |_, rank| is_number(rank, 64.0), "takes 64 for granted"),
    differs(
        &["hidden_size_per_layer_input"],
        |_, width| is_number(width, 256.0),
        "takes 256 for granted",
    ),
    differs(&["altup_active_idx"], |_, index| is_number(index, 0.0), "takes 0 for granted"),
    differs(
        &["num_kv_shared_layers"],
        |case, shared| shared.as_u64().and_then(|n| case.layers().checked_sub(n)) == Some(20),
        "shares keys and values from layer 20 on",
    ),
    differs(
        &["activation_sparsity_pattern"],
        is_usual_sparsity,
        "keeps a twentieth of the first 10 layers' activations",
    ),
    differs(&["altup_correct_scale"], on, "scales what corrects the states"),
    free(&["hidden_act", "vocab_size_per_layer_input", "altup_coef_clip", "layer_types"]),
    free(&["boa_token_id", "eoa_token_id", "audio_soft_tokens_per_image", "feature_layer"]),
    free(&["vision_soft_tokens_per_image", "query_pre_attn_scalar", "attn_logit_softcapping"]),
];

const ROWS: &[Row] = &[
    ("embed_tokens_per_layer", &["per_layer_token_embd"], Embedding),
    ("per_layer_model_projection", &["per_layer_model_proj"], Plain),
    ("per_layer_projection_norm", &["per_layer_proj_norm"], Norm),
    ("altup_projections.#", &["altup_proj"], Expert),
    ("altup_unembed_projections.#", &["altup_unembd_proj"], Expert),
    ("layers.#.per_layer_input_gate", &["blk.#.inp_gate"], Plain),
    ("layers.#.per_layer_projection", &["blk.#.proj"], Plain),
    ("layers.#.post_per_layer_input_norm", &["blk.#.post_norm"], Norm),
    ("layers.#.altup.correction_coefs", &["blk.#.altup_correct_coef"], Plain),
    ("layers.#.altup.correct_output_scale", &["blk.#.altup_correct_scale"], Plain),
    ("layers.#.altup.prediction_coefs", &["blk.#.altup_predict_coef"], Plain),
    ("layers.#.altup.modality_router", &["blk.#.altup_router"], Plain),
    ("layers.#.altup.router_norm", &["blk.#.altup_router_norm"], Norm),
    ("layers.#.laurel.linear_left", &["blk.#.laurel_l"], Plain),
    ("layers.#.laurel.linear_right", &["blk.#.laurel_r"], Plain),
    ("layers.#.laurel.post_laurel_norm", &["blk.#.laurel_post_norm"], Norm),
];

const GGUF_STATES: &[Row] = &[
    ("altup_proj", &["altup_proj"], Experts),
    ("altup_unembd_proj", &["altup_unembd_proj"], Experts),
    ("per_layer_token_embd", &["per_layer_token_embd"], Embedding),
];

const KEYS: &[KeyRow] = &[
    ("feed_forward_length", Counts, Made(inner_sizes)),
    (
        "final_logit_softcapping",
        Number,
        Made(|settings| nonzero(settings, "final_logit_softcapping")),
    ),
    WINDOW,
    ("altup.active_idx", Count, Needed(&["altup_active_idx"])),
    ("altup.num_inputs", Count, Needed(&["altup_num_inputs"])),
    ("embedding_length_per_layer_input", Count, Needed(&["hidden_size_per_layer_input"])),
    ("attention.shared_kv_layers", Count, Needed(&["num_kv_shared_layers"])),
    ("activation_sparsity_scale", Numbers, Made(sparsity_scales)),
    ("attention.sliding_window_pattern", FlagList, Made(windows)),
];

fn layers(settings: &Settings) -> Option<u64> {
    settings.count("num_hidden_layers").filter(|count| *count <= MOST_LAYERS)
}

/// One inner size a layer, also where a config states one for all.
fn inner_sizes(settings: &Settings) -> Option<Json> {
    let stated = settings.find(&["intermediate_size"])?;
    match stated {
        Json::Array(_) => Some(stated.clone()),
        one => Some((0..layers(settings)?).map(|_| one.clone()).collect()),
    }
}

/// Layers with a window: four of five, unless the config lists them.
fn windows(settings: &Settings) -> Option<Json> {
    let has_window = |kind: &Json| kind == "sliding_attention";
    match listed_layers(settings) {
        Some(kinds) => Some(kinds.iter().map(has_window).collect()),
        None => Some((1..=layers(settings)?).map(|layer| layer % 5 != 0).collect()),
    }
}

/// How much of each layer's activations is left out: of the first 10 layers of many, most.
fn sparsity(settings: &Settings) -> Option<Vec<f64>> {
    if let Some(Json::Array(stated)) = settings.find(&["activation_sparsity_pattern"]) {
        return stated.iter().map(Json::as_f64).collect();
    }
    let layers = layers(settings)?;
    let of = |layer: u64| if layers > 10 && layer < 10 { 0.95 } else { 0.0 };
    Some((0..layers).map(of).collect())
}

/// By how many deviations an activation has to be above the mean to stay.
fn sparsity_scales(settings: &Settings) -> Option<Json> {
    // Where nothing is left out it is minus infinity, which JSON does not have: a number that is.
    let of = |part: f64| if part == 0.0 { -1e300 } else { f64::from(deviations(part)) };
    Some(sparsity(settings)?.into_iter().map(of).collect())
}

fn is_usual_sparsity(case: &Case<'_>, _: &Json) -> bool {
    let usual = |(layer, part): (usize, f64)| part == if layer < 10 { 0.95 } else { 0.0 };
    sparsity(case.settings).is_none_or(|all| all.into_iter().enumerate().all(usual))
}

fn refuse_other_states(settings: &Settings, _: &About<'_>) -> Result<()> {
    match settings.count("altup_num_inputs") {
        Some(4) => Ok(()),
        _ => Err(not_yet("models of this family with another number of states than 4")),
    }
}
