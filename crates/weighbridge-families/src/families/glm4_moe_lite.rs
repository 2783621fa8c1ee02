//! GLM-4.7 Flash: DeepSeek V3's attention and experts.

use super::deepseek_v2::{KEYS, LATENT_BACK, RULES as LATENT_RULES};
use super::deepseek_v3::{CHOOSES, DEEPSEEK_V3, is_of_glm};
use super::family::*;
use super::glm4_moe::{SPECIAL, layers_of_the_model};

pub(super) const GLM4_MOE_LITE: Family = Family {
    classes: &["Glm4MoeLiteForCausalLM"],
    types: &["glm4_moe_lite"],
    drops_next: false,
    counts_next: Some("num_nextn_predict_layers"),
    // The class has it under another name.
    ignored: &["head_dim"],
    keys: &[BASE, KEYS, CHOOSES, OWN_KEYS],
    rules: &[DENSE_FIRST, LATENT_RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [154880, 2048, 10240, 47, 20, 202752],
        key_heads: KeyHeads::Of(20),
        epsilon: ("rms_norm_eps", 1e-5),
        more: &[
            ("moe_intermediate_size", 1536.0),
            ("n_shared_experts", 1.0),
            ("n_routed_experts", 64.0),
            ("routed_scaling_factor", 1.8),
            ("kv_lora_rank", 512.0),
            ("q_lora_rank", 768.0),
            ("qk_rope_head_dim", 64.0),
            ("v_head_dim", 256.0),
            ("qk_nope_head_dim", 192.0),
            ("n_group", 1.0),
            ("topk_group", 1.0),
            ("num_experts_per_tok", 4.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    tokenizer: SPECIAL,
    back: Some(Back {
        is: is_of_glm,
        made: &[
            ("attention.kv_lora_rank", "kv_lora_rank"),
            ("expert_shared_count", "n_shared_experts"),
            ("nextn_predict_layers", "num_nextn_predict_layers"),
        ],
        fixed: &[
            ("num_hidden_layers", layers_of_the_model),
            ("q_lora_rank", latent_queries),
            ("qk_nope_head_dim", keys_not_rotated),
            ("norm_topk_prob", weights_are_normalized),
            ("rope_scaling", with_scale_of_attention),
            ("mlp_layer_types", kinds_of_layers),
        ],
        untold: &[
            ("num_key_value_heads", ""),
            ("attention_bias", "false"),
            ("rope_interleave", "true"),
            ("rope_scaling.mscale", "as mscale_all_dim"),
        ],
        ..LATENT_BACK
    }),
    ..DEEPSEEK_V3
};

/// Dense layers come first.
pub(super) const DENSE_FIRST: &[Rule] = &[
    fails(
        &["mlp_layer_types"],
        |case, kinds| kinds.is_null() || dense_come_first(kinds, dense(case.settings)),
        "dense layers come before those with experts",
    ),
    differs(&["partial_rotary_factor"], is_one, "rotates all of `qk_rope_head_dim`"),
];

const OWN_KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    ("leading_dense_block_count", Count, Made(|settings| Some(dense(settings).into()))),
    ("nextn_predict_layers", Count, Made(|settings| nonzero(settings, "num_nextn_predict_layers"))),
];

/// How many layers come before the first with experts. The class knows another key than the converter,
/// which finds none where only that is stated.
fn dense(settings: &Settings) -> u64 {
    let listed = settings.find(&["mlp_layer_types"]).and_then(Json::as_array);
    let count = |kinds: &Vec<Json>| kinds.iter().take_while(|kind| *kind == "dense").count() as u64;
    settings.count("first_k_dense_replace").or_else(|| listed.map(count)).unwrap_or(1)
}

fn dense_come_first(kinds: &Json, dense: u64) -> bool {
    let Some(kinds) = kinds.as_array() else { return false };
    (0..).zip(kinds).all(|(layer, kind)| (layer < dense) == (kind == "dense"))
}

/// Which layers have experts, as the class lists it.
pub(super) fn kinds_of_layers(told: &Told<'_>, config: &Config) -> Option<Json> {
    let dense = told.own("leading_dense_block_count")?.as_u64()?;
    let layers = config.get("num_hidden_layers")?.as_u64().filter(|count| *count <= MOST_LAYERS)?;
    let kinds = (0..layers).map(|layer| if layer < dense { "dense" } else { "sparse" });
    Some(kinds.collect())
}
