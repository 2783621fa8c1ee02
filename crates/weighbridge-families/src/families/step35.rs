//! Step 3.5 Flash.

use super::family::*;

pub(super) const STEP35: Family = Family {
    architecture: "step35",
    classes: &["Step3p5ForCausalLM", "Step3p7ForConditionalGeneration"],
    types: &["step3p5"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, ROWS, NEXTN],
    norm_add: 1.0,
    predicts: true,
    counts_next: Some(NEXT),
    keys: &[BASE, KEYS],
    computed: factors,
    refuse,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "llama3"],
    mlx: false,
    ..DECODER
};

const NEXT: &str = "num_nextn_predict_layers";

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    NEEDS_HEAD,
    fails(
        &["use_qk_norm"],
        |case, _| case.has(".attn_q_norm.weight") || !case.has(".attn_q.weight"),
        "queries and keys of this family are normed",
    ),
    differs(&["zero_centered"], on, "adds one to norms"),
    differs(
        &["yarn_only_types"],
        |_, kinds| {
            kinds.as_array().is_none_or(|kinds| kinds.iter().all(|kind| *kind == "full_attention"))
        },
        "scales rotary positions in layers that see everything",
    ),
    differs(&["use_moe"], on, "has experts"),
    differs(&["sink"], off, "has no sinks in this family"),
    // What weights tell, and the precision of parts.
    free(&["use_head_wise_attn_gate", "use_moe_router_bias", "need_fp32_gate", "att_impl_type"]),
    free(&["partial_rotary_factors", "rope_theta", "use_rope_layers", "bf16", "use_mfa"]),
    free(&["moe_layer_offset", "share_expert_dims", "use_cache_only_for_mtp"]),
];

const ROWS: &[Row] = &[
    ("layers.#.self_attn.g_proj", &["blk.#.attn_gate"], Plain),
    ("layers.#.moe.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.moe.router_bias", &["blk.#.exp_probs_b.bias"], Plain),
    ("layers.#.moe.gate_proj", &["blk.#.ffn_gate_exps"], Experts),
    ("layers.#.moe.up_proj", &["blk.#.ffn_up_exps"], Experts),
    ("layers.#.moe.down_proj", &["blk.#.ffn_down_exps"], Experts),
    ("layers.#.share_expert.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.share_expert.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.share_expert.down_proj", &["blk.#.ffn_down_shexp"], Plain),
    ("layers.#.transformer.shared_head.norm", &["blk.#.nextn.shared_head_norm"], Norm),
    ("layers.#.transformer.shared_head.output", &["blk.#.nextn.shared_head_head"], Embedding),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    ("attention.head_count", Counts, Made(|settings| heads(settings, "num_attention_heads"))),
    ("attention.head_count_kv", Counts, Made(|settings| heads(settings, "num_attention_groups"))),
    WINDOW,
    ("attention.sliding_window_pattern", FlagList, Made(|s| windows(s).map(Json::from))),
    ("attention.value_length", Count, Needed(&["head_dim"])),
    ("expert_count", Count, Needed(&["moe_num_experts"])),
    ("expert_used_count", Count, Needed(&["moe_top_k"])),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("expert_shared_feed_forward_length", Count, Needed(&["share_expert_dim"])),
    ("expert_weights_scale", Number, Any(&["moe_router_scaling_factor"])),
    ("expert_weights_norm", Flag, Any(&["norm_expert_weight"])),
    ("leading_dense_block_count", Count, Made(dense)),
    ("moe_every_n_layers", Count, Made(every)),
    ("attention.layer_norm_rms_epsilon", Number, Made(epsilon)),
    ("swiglu_clamp_exp", Numbers, Made(|settings| limits(settings, "swiglu_limits"))),
    ("swiglu_clamp_shexp", Numbers, Made(|settings| limits(settings, "swiglu_limits_shared"))),
    ("nextn_predict_layers", Count, Made(|settings| nonzero(settings, NEXT))),
];

/// A list for all layers, with those that predict further tokens. What is missing is filled in.
fn padded(settings: &Settings, key: &str, more: &Json) -> Option<Vec<Json>> {
    let layers = layers_and_next(settings)?.as_u64().filter(|layers| *layers <= MOST_LAYERS)?;
    let stated = settings.find(&[key]).and_then(Json::as_array).cloned().unwrap_or_default();
    let mut all = stated;
    all.resize(usize::try_from(layers).ok()?, more.clone());
    Some(all)
}

/// Which layers have a window.
fn windows(settings: &Settings) -> Option<Vec<bool>> {
    let kinds = padded(settings, "layer_types", &"full_attention".into())?;
    Some(kinds.iter().map(|kind| kind == "sliding_attention").collect())
}

/// The number of heads. Layers with a window may have another one.
fn heads(settings: &Settings, key: &str) -> Option<Json> {
    let open = settings.find(&[key])?.clone();
    let other = settings.find(&["attention_other_setting"]).map(|other| other[key].clone());
    let windowed = other.filter(|heads| !heads.is_null()).unwrap_or_else(|| open.clone());
    let of = |has: bool| if has { windowed.clone() } else { open.clone() };
    Some(windows(settings)?.into_iter().map(of).collect())
}

/// The first layer with experts.
fn dense(settings: &Settings) -> Option<Json> {
    let listed = settings.find(&["moe_layers_enum"]).and_then(Json::as_str).unwrap_or_default();
    let layers = listed.split(',').filter_map(|layer| layer.trim().parse::<u64>().ok());
    Some(layers.min().unwrap_or(0).into())
}

fn every(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["moe_every_n_layer"]).cloned().unwrap_or(1.into()))
}

fn epsilon(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["rms_norm_eps"]).cloned().unwrap_or(1e-5.into()))
}

/// Where the activations of each layer are cut; zero where they are not.
fn limits(settings: &Settings, key: &str) -> Option<Json> {
    settings.find(&[key])?;
    let all = padded(settings, key, &0.0.into())?.into_iter();
    Some(all.map(|limit| if limit.is_null() { 0.0.into() } else { limit }).collect())
}

/// Factors of the part of a head that layers without a window rotate, and ones for the rest.
fn factors(settings: &Settings) -> Tensors {
    llama3_part(settings).map(|all| ("rope_freqs.weight", all)).into_iter().collect()
}

fn llama3_part(settings: &Settings) -> Option<Vec<f32>> {
    let kind = settings.rope(&["rope_type"])?.as_str()?;
    kind.eq_ignore_ascii_case("llama3").then_some(())?;
    let number =
        |key: &str, other: f64| settings.rope(&[key]).and_then(Json::as_f64).unwrap_or(other);
    let scaling = Scaling {
        factor: number("factor", 8.0),
        low: number("low_freq_factor", 1.0),
        high: number("high_freq_factor", 4.0),
        context: number("original_max_position_embeddings", 8192.0),
    };
    let width = settings.head_width().filter(|width| *width <= 1 << 16)?;
    let base = number("rope_theta", 10000.0);
    let mut all: Vec<f32> = (0..width / 2)
        .step_by(2)
        .map(|at| divisor(frequency(base, at, width / 2), &scaling))
        .collect();
    all.resize(usize::try_from(width / 2).ok()?, 1.0);
    Some(all)
}

/// As of Llama 3. The converter computes these in double precision.
#[allow(clippy::cast_possible_truncation)] // f32 is what the file has.
fn divisor(frequency: f32, scaling: &Scaling) -> f32 {
    let length = std::f64::consts::TAU / f64::from(frequency);
    if length < scaling.context / scaling.high {
        return 1.0;
    }
    if length > scaling.context / scaling.low {
        return scaling.factor as f32;
    }
    let smooth = (scaling.context / length - scaling.low) / (scaling.high - scaling.low);
    (1.0 / ((1.0 - smooth) / scaling.factor + smooth)) as f32
}

/// The converter writes no other parts of heads than these.
fn refuse(settings: &Settings, _: &About<'_>) -> Result<()> {
    let parts = padded(settings, "partial_rotary_factors", &0.5.into()).unwrap_or_default();
    let usual = |(has, part): (&bool, &Json)| is_number(part, if *has { 1.0 } else { 0.5 });
    if !windows(settings).unwrap_or_default().iter().zip(&parts).all(usual) {
        return Err(not_yet("other rotated parts of heads in this family"));
    }
    Ok(())
}
