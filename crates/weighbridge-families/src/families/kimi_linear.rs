//! Kimi Linear: most layers have delta attention, the others DeepSeek's without positions.

use super::family::*;

pub(super) const KIMI_LINEAR: Family = Family {
    architecture: "kimi-linear",
    classes: &["KimiLinearForCausalLM", "KimiLinearModel"],
    types: &["kimi_linear"],
    rows: &[
        TRUNK,
        ATTENTION,
        LATENT_ATTENTION,
        DELTA_ATTENTION,
        MLP,
        TWO_NORMS,
        MIXTRAL_EXPERTS,
        SHARED,
        EXPERTS,
        SHARED_EXPERTS,
    ],
    // The class counts groups of experts under another name.
    ignored: &["n_group"],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        names: [
            "vocab_size",
            "hidden_size",
            "intermediate_size",
            "num_hidden_layers",
            "num_attention_heads",
            "model_max_length",
        ],
        sizes: [163840, 2304, 9216, 27, 32, 1048576],
        key_heads: KeyHeads::Unsaid,
        head: Head::As("qk_rope_head_dim"),
        epsilon: ("rms_norm_eps", 1e-5),
        learns_positions: true,
        more: &[
            ("kv_lora_rank", 512.0),
            ("moe_intermediate_size", 1024.0),
            ("num_expert_group", 1.0),
            ("num_experts", 256.0),
            ("num_experts_per_token", 8.0),
            ("num_key_value_heads", 32.0),
            ("num_shared_experts", 1.0),
            ("qk_nope_head_dim", 128.0),
            ("qk_rope_head_dim", 64.0),
            ("routed_scaling_factor", 2.446),
            ("topk_group", 1.0),
            ("v_head_dim", 128.0),
        ],
        flags: &[("moe_renormalize", true)],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::BytePairs(&[]),
    mlx: false,
    ..DECODER
};

/// Experts that see every token, and the bias of the choice between the others.
pub(super) const SHARED: &[Row] = &[
    ("layers.#.block_sparse_moe.shared_experts.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.block_sparse_moe.shared_experts.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.block_sparse_moe.shared_experts.down_proj", &["blk.#.ffn_down_shexp"], Plain),
    ("layers.#.block_sparse_moe.gate.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain),
];

const RULES: &[Rule] = &[
    SILU,
    NEEDS_HEAD,
    fails(
        &["moe_router_activation_func"],
        |_, function| !function.is_null(),
        "a file has to state how experts are chosen",
    ),
    fails(&["attention_bias"], off, "it has no attention biases in this family"),
    fails(
        &["linear_attn_config"],
        |case, linear| linear["num_heads"] == case.value("num_attention_heads"),
        "both kinds of attention have as many heads",
    ),
    differs(&["layer_types"], kinds_agree, "takes layers by `linear_attn_config`"),
    differs(&["mlp_layer_types"], dense_agree, "takes the first layers for dense ones"),
    differs(&["mla_use_nope"], on, "does not rotate positions"),
    differs(&["moe_renormalize"], on, "normalizes the weights of experts"),
    differs(
        &["num_expert_group"],
        |_, groups| groups.as_u64().unwrap_or(1) <= 1,
        "does not choose experts by groups in this family",
    ),
    differs(&["moe_layer_freq"], is_one, "has experts in every layer after the first dense ones"),
    differs(&["num_nextn_predict_layers"], off, "predicts no further tokens"),
    differs(
        &["rms_norm_eps"],
        |_, epsilon| is_number(epsilon, 1e-6),
        "uses it for the norms within attention, too, which have 1e-6",
    ),
    free(&["qk_head_dim", "num_key_value_heads", "use_grouped_topk"]),
    // The class has these out of `linear_attn_config`.
    free(&["linear_conv_kernel_dim", "linear_head_dim", "linear_num_heads"]),
];

fn kinds_agree(case: &Case<'_>, kinds: &Json) -> bool {
    let Some(kinds) = kinds.as_array() else { return kinds.is_null() };
    let full = |layer: u64| is_full(case.settings, layer);
    (0..).zip(kinds).all(|(layer, kind)| full(layer) == (kind == "full_attention"))
}

fn dense_agree(case: &Case<'_>, kinds: &Json) -> bool {
    let Some(kinds) = kinds.as_array() else { return kinds.is_null() };
    let dense = case.settings.count("first_k_dense_replace").unwrap_or(0);
    (0..).zip(kinds).all(|(layer, kind)| (layer < dense) == (kind == "dense"))
}

const KEYS: &[KeyRow] = &[
    VOCABULARY,
    ("attention.head_count_kv", Counts, MadeOf("linear_attn_config", latent_heads)),
    ("ssm.conv_kernel", Count, Made(|settings| of_linear(settings, "short_conv_kernel_size"))),
    ("kda.head_dim", Count, Made(|settings| of_linear(settings, "head_dim"))),
    ("attention.q_lora_rank", Count, Any(&["q_lora_rank", "n_lora_q"])),
    ("attention.kv_lora_rank", Count, Needed(&["kv_lora_rank"])),
    ("rope.dimension_count", Count, Needed(&["qk_rope_head_dim"])),
    ("attention.key_length", Count, MadeOf("qk_rope_head_dim", latent_key_length)),
    ("attention.key_length_mla", Count, MadeOf("qk_nope_head_dim", made_key_length)),
    ("attention.value_length_mla", Count, Any(&["v_head_dim"])),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("expert_shared_count", Count, Needed(&["num_shared_experts"])),
    ("leading_dense_block_count", Count, Needed(&["first_k_dense_replace"])),
    ("expert_weights_scale", Number, Needed(&["routed_scaling_factor"])),
];

pub(super) fn of_linear(settings: &Settings, key: &str) -> Option<Json> {
    settings.find(&["linear_attn_config"])?.get(key).filter(|value| !value.is_null()).cloned()
}

/// Whether a layer has DeepSeek's attention. Configs count layers from one.
fn is_full(settings: &Settings, layer: u64) -> bool {
    let full = of_linear(settings, "full_attn_layers");
    full.as_ref().and_then(Json::as_array).is_some_and(|full| full.contains(&(layer + 1).into()))
}

/// The one head of keys that layers with DeepSeek's attention have, and none for the others.
pub(super) fn latent_heads(settings: &Settings) -> Option<Json> {
    of_linear(settings, "full_attn_layers")?;
    let layers = settings.count("num_hidden_layers").filter(|count| *count <= MOST_LAYERS)?;
    Some((0..layers).map(|layer| u64::from(is_full(settings, layer))).collect())
}
