//! DeepSeek V2.

use super::deepseek_v3::is_of_glm;
use super::family::*;

pub(super) const DEEPSEEK_V2: Family = Family {
    architecture: "deepseek2",
    classes: &["DeepseekV2ForCausalLM"],
    types: &["deepseek_v2"],
    rows: &[TRUNK, ATTENTION, LATENT_ATTENTION, MLP, TWO_NORMS, EXPERTS, SHARED_EXPERTS, NEXTN],
    predicts: true,
    drops_next: true,
    drops_head: DropsHead::Tied,
    keys: &[BASE, KEYS],
    rules: &[CHOOSING, RULES, ROPE],
    scalings: &["yarn"],
    defaults: Some(Defaults {
        sizes: [102400, 4096, 11008, 32, 32, 2048],
        head: Head::AlwaysAs("qk_rope_head_dim"),
        more: &[
            ("first_k_dense_replace", 0.0),
            ("kv_lora_rank", 512.0),
            ("q_lora_rank", 1536.0),
            ("n_routed_experts", 64.0),
            ("n_shared_experts", 2.0),
            ("qk_nope_head_dim", 128.0),
            ("qk_rope_head_dim", 64.0),
            ("routed_scaling_factor", 1.0),
            ("v_head_dim", 128.0),
            ("moe_intermediate_size", 1407.0),
        ],
        flags: &[("norm_topk_prob", false)],
        ..DEFAULTS
    }),
    back: Some(Back {
        is: |told| told.own("expert_count").is_some() && !is_of_glm(told),
        ..LATENT_BACK
    }),
    mlx: false,
    ..DECODER
};

/// What the class takes no notice of, and llama.cpp does.
const CHOOSING: &[Rule] = &[
    differs(
        &["norm_topk_prob"],
        off,
        "normalizes the weights of experts, as the original code does",
    ),
    differs(
        &["n_group"],
        |_, groups| groups.as_u64().unwrap_or(1) <= 1,
        "chooses experts by groups in its own way",
    ),
];

pub(super) const RULES: &[Rule] = &[
    SILU,
    fails(&["attention_bias"], off, "it has no attention biases in this family"),
    fails(&["mlp_bias"], off, "it has no feed-forward biases in this family"),
    fails(
        &["q_lora_rank"],
        is_lite_by_layers,
        "it takes models of 26 and 27 layers, and no others, for Lite",
    ),
    differs(
        &["rope_scaling.mscale", "rope_scaling.mscale_all_dim"],
        scales_once,
        "scales attention as if mscale and mscale_all_dim were stated and equal",
    ),
    differs(
        &["rope_scaling.attention_factor"],
        |_, factor| factor.is_null(),
        "uses the factor that follows from mscale",
    ),
    differs(
        &["rms_norm_eps"],
        |_, epsilon| is_number(epsilon, 1e-6),
        "uses it for the norms within attention, too, which have 1e-6",
    ),
    free(&["qk_head_dim", "head_dim", "topk_method", "num_nextn_predict_layers"]),
    differs(&["moe_layer_freq"], is_one, "has experts in every layer after the first dense ones"),
    differs(&["rope_interleave"], on, "takes pairs of neighbours for rotary pairs"),
];

pub(super) const LATENT_BACK: Back = Back {
    made: &[
        ("attention.kv_lora_rank", "kv_lora_rank"),
        ("leading_dense_block_count", "first_k_dense_replace"),
        ("expert_shared_count", "n_shared_experts"),
    ],
    fixed: &[
        ("q_lora_rank", latent_queries),
        ("qk_nope_head_dim", keys_not_rotated),
        ("head_dim", |_, config| config.get("qk_rope_head_dim").cloned()),
        ("norm_topk_prob", weights_are_normalized),
        ("scoring_func", scoring),
        ("topk_method", choosing),
        ("rope_scaling", with_scale_of_attention),
    ],
    untold: &[
        ("num_key_value_heads", ""),
        ("mlp_bias", "false"),
        ("attention_bias", "false"),
        ("rope_scaling.mscale", "as mscale_all_dim"),
        ("num_nextn_predict_layers", "none"),
    ],
    ..BACK
};

pub(super) const KEYS: &[KeyRow] = &[
    // The one head of keys that this attention has when its keys are not made.
    ("attention.head_count_kv", Count, Made(|_| Some(1.into()))),
    ("leading_dense_block_count", Count, Made(dense_layers)),
    VOCABULARY,
    ("attention.q_lora_rank", Count, Any(&["q_lora_rank"])),
    ("attention.kv_lora_rank", Count, Made(|settings| Some(latent(settings).into()))),
    ("attention.key_length", Count, MadeOf("qk_rope_head_dim", latent_key_length)),
    ("attention.value_length", Count, Made(|settings| Some(latent(settings).into()))),
    ("attention.key_length_mla", Count, MadeOf("qk_nope_head_dim", made_key_length)),
    ("attention.value_length_mla", Count, Needed(&["v_head_dim"])),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size", "intermediate_size"])),
    ("expert_count", Count, Any(&["n_routed_experts"])),
    ("expert_shared_count", Count, Made(|settings| or_zero(settings, "n_shared_experts"))),
    ("expert_weights_scale", Number, Any(&["routed_scaling_factor"])),
    ("expert_weights_norm", Flag, Made(normalized)),
    ("rope.dimension_count", Count, Needed(&["qk_rope_head_dim"])),
    ("rope.scaling.yarn_log_multiplier", Number, Made(yarn_multiplier)),
];

/// How many layers come before the first with experts.
pub(super) fn dense_layers(settings: &Settings) -> Option<Json> {
    let said = settings.find(&["first_k_dense_replace"]).cloned();
    said.or_else(|| match settings.find(&["n_routed_experts"]) {
        Some(_) => Some(0.into()),
        None => settings.find(&["num_hidden_layers"]).cloned(),
    })
}

/// True, or nothing.
pub(super) fn normalized(settings: &Settings) -> Option<Json> {
    settings.find(&["norm_topk_prob"]).filter(|said| said.as_bool() != Some(false)).cloned()
}

pub(super) fn scoring(told: &Told<'_>, _: &Config) -> Option<Json> {
    match told.own("expert_gating_func")?.as_u64() {
        Some(1) => Some("softmax".into()),
        Some(2) => Some("sigmoid".into()),
        _ => None,
    }
}

/// How experts are chosen follows from how many groups of them there are.
fn choosing(told: &Told<'_>, config: &Config) -> Option<Json> {
    let groups = config.get("n_group").and_then(Json::as_u64).unwrap_or(1);
    let is_biased = !told.layers_with("exp_probs_b.bias").is_empty();
    Some(match (is_biased, groups) {
        (true, _) => "noaux_tc".into(),
        (_, 0 | 1) => "greedy".into(),
        _ => "group_limited_greedy".into(),
    })
}

/// Whether queries are made as llama.cpp tells from the number of layers.
fn is_lite_by_layers(case: &Case<'_>, rank: &Json) -> bool {
    let is_small = case.layers() == 48 && case.settings.count("vocab_size") == Some(128256);
    rank.is_null() == (matches!(case.layers(), 26 | 27) || is_small)
}

fn scales_once(case: &Case<'_>, scale: &Json) -> bool {
    let all = case.value("rope_scaling.mscale_all_dim");
    case.value("rope_scaling.rope_type") != "yarn"
        || scale.as_f64().is_some() && scale.as_f64() == all.as_f64()
}
