//! The text model of DeepSeek-OCR: DeepSeek V2's experts with plain attention.

use super::deepseek_v2::{DEEPSEEK_V2, dense_layers, normalized};
use super::family::*;

pub(super) const DEEPSEEK_OCR: Family = Family {
    architecture: "deepseek2-ocr",
    classes: &["DeepseekOCRForCausalLM", "UnlimitedOCRForCausalLM", "DeepseekOCR2ForCausalLM"],
    types: &["deepseek_vl_v2"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, EXPERTS, SHARED_EXPERTS],
    left_out: &[
        ("sam_model.", PICTURES),
        ("qwen2_model.", PICTURES),
        ("vision_model.", PICTURES),
        ("projector.", PICTURES),
        ("image_newline", PICTURES),
        ("view_seperator", PICTURES),
    ],
    early: &[("tokenizer.chat_template", Text, Made(|_| Some(TEMPLATE.into())))],
    keys: &[KEYS],
    rules: &[RULES, ROPE],
    as_stated: true,
    defaults: None,
    back: None,
    ..DEEPSEEK_V2
};

const PICTURES: &str = "part of the vision model, which GGUF stores in a separate file";

/// For models that have none: texts one after the other.
const TEMPLATE: &str = "{% for m in messages %}{{m['content']}}{% endfor %}";

const RULES: &[Rule] = &[
    SILU,
    HEADS_SHARE,
    fails(&["use_mla"], off, "attention of this family has keys and values of its own"),
    fails(
        &["num_key_value_heads"],
        |case, keys| keys.is_null() || *keys == case.value("num_attention_heads"),
        "this family has a key head for each query head",
    ),
    fails(&["attention_bias"], off, "it has no attention biases in this family"),
    differs(
        &["n_group"],
        |_, groups| groups.as_u64().unwrap_or(1) <= 1,
        "chooses experts by groups in its own way",
    ),
    differs(&["moe_layer_freq"], is_one, "has experts in every layer after the first dense ones"),
    differs(
        &["sliding_window_size", "sliding_window"],
        |case, window| off(case, window) || case.is_beyond_context(window),
        "lets every layer see the whole text, beyond the window too",
    ),
    free(&["kv_lora_rank", "qk_nope_head_dim", "v_head_dim", "topk_method", "lm_head", "rm_head"]),
    // Of pictures.
    free(&[
        "candidate_resolutions",
        "global_view_pos",
        "projector_config",
        "tile_tag",
        "num_nextn_predict_layers",
    ]),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Needed(LAYERS)),
    ("context_length", Count, Any(CONTEXT)),
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("feed_forward_length", Count, Any(INNER)),
    ("attention.head_count", Count, Needed(&["num_attention_heads"])),
    ("attention.head_count_kv", Count, Any(&["num_key_value_heads"])),
    ("rope.freq_base", Number, Rope(&["rope_theta"])),
    ("attention.layer_norm_rms_epsilon", Number, Made(epsilon)),
    ("expert_count", Count, Any(&["num_local_experts", "num_experts", "n_routed_experts"])),
    ("expert_used_count", Count, Any(&["num_experts_per_tok"])),
    ("expert_group_count", Count, Any(&["n_group"])),
    ("expert_group_used_count", Count, Any(&["topk_group"])),
    ("expert_gating_func", Count, Made(gating)),
    KEY_LENGTH,
    VALUE_LENGTH,
    FILE_TYPE,
    ("leading_dense_block_count", Count, Made(dense_layers)),
    VOCABULARY,
    ("attention.q_lora_rank", Count, Any(&["q_lora_rank"])),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size", "intermediate_size"])),
    ("expert_shared_count", Count, Made(|settings| or_zero(settings, "n_shared_experts"))),
    ("expert_weights_scale", Number, Any(&["routed_scaling_factor"])),
    ("expert_weights_norm", Flag, Made(normalized)),
    ("rope.dimension_count", Count, Needed(&["qk_rope_head_dim"])),
    ("attention.sliding_window", Count, Made(window)),
];

fn epsilon(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["rms_norm_eps"]).cloned().unwrap_or(1e-6.into()))
}

fn window(settings: &Settings) -> Option<Json> {
    nonzero(settings, "sliding_window_size").or_else(|| nonzero(settings, "sliding_window"))
}
