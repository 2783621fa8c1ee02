//! MiMo V2, by Xiaomi.

use super::family::*;

pub(super) const MIMO2: Family = Family {
    architecture: "mimo2",
    classes: &["MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM"],
    types: &["mimo_v2_flash", "mimo_v2"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, EXPERTS, ROWS, NEXTN],
    gguf: &[GGUF],
    predicts: true,
    counts_next: Some(NEXT),
    stacks: GATES_FIRST,
    keys: &[BASE, KEYS],
    refuse,
    rules: &[RULES, ROPE],
    mlx: false,
    ..DECODER
};

/// No config states it: all published models have three such layers.
const NEXT: &str = "num_nextn_predict_layers";

const RULES: &[Rule] = &[
    SILU,
    NEEDS_HEAD,
    fails(
        &["attention_bias"],
        |case, _| !case.has(".attn_output.bias"),
        "it has no bias behind attention in this family",
    ),
    differs(
        &["scoring_func"],
        |_, function| function.is_null() || function == "sigmoid",
        "chooses experts by a sigmoid",
    ),
    differs(&["norm_topk_prob"], on, "normalizes the weights of experts"),
    differs(&["routed_scaling_factor"], is_one, "multiplies what experts say by one"),
    differs(&["n_group"], is_one, "has no groups of experts in this family"),
    differs(&["n_shared_experts"], off, "has no shared expert in this family"),
    differs(
        &["add_full_attention_sink_bias"],
        |case, _| case.has(".attn_sinks.weight") || !case.has(".attn_q.weight"),
        "has sinks where there are weights of them",
    ),
    // What weights tell, and other names of the same.
    free(&["add_swa_attention_sink_bias", "add_full_attention_sink_bias", "moe_layer_freq"]),
    free(&["attention_chunk_size", "sliding_window_size", "topk_method", "hybrid_block_size"]),
    free(&["swa_head_dim", "swa_v_head_dim", "swa_num_attention_heads", "topk_group", "n_group"]),
    free(&["attention_projection_layout", "layer_types", "mlp_layer_types"]),
];

const ROWS: &[Row] = &[
    ("layers.#.self_attn.attention_sink_bias", &["blk.#.attn_sinks.weight"], Plain),
    ("layers.#.self_attn.sinks", &["blk.#.attn_sinks.weight"], Plain),
    // Heads of values are shorter, and there are more key heads in layers with a window.
    ("layers.#.self_attn.qkv_proj", &["blk.#.attn_qkv"], Plain),
    ("layers.#.mlp.gate.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain),
    ("layers.#.final_layernorm", &["blk.#.layer_output_norm"], Norm),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers)),
    ("attention.head_count_kv", Counts, MadeOf(PATTERN, key_heads)),
    WINDOW,
    ("attention.sliding_window_pattern", Counts, MadeOf(PATTERN, |s| windows(s).map(Json::from))),
    ("attention.value_length", Count, Needed(&["v_head_dim"])),
    ("expert_count", Count, Needed(&["n_routed_experts"])),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("rope.dimension_count", Count, Made(rotated)),
    ("attention.layer_norm_rms_epsilon", Number, Made(epsilon)),
    ("attention.value_scale", Number, Any(&["attention_value_scale"])),
    (
        "nextn_predict_layers",
        Count,
        Made(|settings| Some(next(settings)).filter(|n| *n > 0).map(Json::from)),
    ),
];

/// Layers that predict further tokens: as many as published models have, unless they were counted.
fn next(settings: &Settings) -> u64 {
    if settings.states(NEXT) { settings.count(NEXT).unwrap_or(0).min(MOST_LAYERS) } else { 3 }
}

fn layers(settings: &Settings) -> Option<Json> {
    settings.count("num_hidden_layers")?.checked_add(next(settings)).map(Json::from)
}

const PATTERN: &str = "hybrid_layer_pattern";

/// One for each layer with a window. Those that predict further tokens have one.
fn windows(settings: &Settings) -> Option<Vec<u64>> {
    let layers = settings.find(&[PATTERN])?.as_array()?;
    let stated = layers.iter().map(|has| Some(u64::from(has.as_u64()? == 1)));
    stated.chain((0..next(settings)).map(|_| Some(1))).collect()
}

fn key_heads(settings: &Settings) -> Option<Json> {
    let count = |key: &str| settings.count(key);
    let (open, windowed) = (count("num_key_value_heads")?, count("swa_num_key_value_heads")?);
    let of = |has: u64| if has == 1 { windowed } else { open };
    Some(windows(settings)?.into_iter().map(of).collect())
}

fn rotated(settings: &Settings) -> Option<Json> {
    part(settings.rope(&["partial_rotary_factor"])?, settings.count("head_dim")?).map(Json::from)
}

fn epsilon(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["layernorm_epsilon"]).cloned().unwrap_or(1e-5.into()))
}

/// Heads of two sizes, and what lies in another order.
fn refuse(settings: &Settings, _: &About<'_>) -> Result<()> {
    let pairs = [
        ("swa_head_dim", "head_dim"),
        ("swa_num_attention_heads", "num_attention_heads"),
        ("swa_v_head_dim", "v_head_dim"),
    ];
    let differs = |(a, b): &(&str, &str)| settings.count(a) != settings.count(b);
    if let Some((key, other)) = pairs.iter().find(|pair| differs(pair)) {
        let message = format!("config.json: `{key}` is missing, or not `{other}`");
        return Err(Error::unsupported(message));
    }
    let is_coded = settings.find(&["quantization_config"]).is_some();
    let layout = settings.find(&["attention_projection_layout"]).and_then(Json::as_str);
    if is_coded && layout == Some("fused_qkv") {
        return Err(not_yet("queries, keys and values that were split among devices"));
    }
    if settings.rope(&["partial_rotary_factor"]).is_none() {
        return Err(not_yet("models of this family without `partial_rotary_factor`"));
    }
    Ok(())
}
