//! DeepSeek V3 and R1.

use super::deepseek_v2::{DEEPSEEK_V2, KEYS, LATENT_BACK, RULES};
use super::family::*;

pub(super) const DEEPSEEK_V3: Family = Family {
    classes: &["DeepseekV3ForCausalLM"],
    types: &["deepseek_v3"],
    rules: &[RULES, ROPE],
    keys: &[BASE, KEYS, CHOOSES],
    defaults: Some(Defaults {
        sizes: [129280, 7168, 18432, 61, 128, 4096],
        key_heads: KeyHeads::Of(128),
        head: Head::AlwaysAs("qk_rope_head_dim"),
        more: &[
            ("moe_intermediate_size", 2048.0),
            ("n_shared_experts", 1.0),
            ("n_routed_experts", 256.0),
            ("routed_scaling_factor", 2.5),
            ("kv_lora_rank", 512.0),
            ("q_lora_rank", 1536.0),
            ("qk_rope_head_dim", 64.0),
            ("v_head_dim", 128.0),
            ("qk_nope_head_dim", 128.0),
            ("n_group", 8.0),
            ("topk_group", 4.0),
            ("num_experts_per_tok", 8.0),
            ("first_k_dense_replace", 3.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    back: Some(Back {
        is: |told| !told.layers_with("exp_probs_b.bias").is_empty() && !is_of_glm(told),
        untold: &[
            ("num_key_value_heads", ""),
            ("attention_bias", "false"),
            ("rope_interleave", "true"),
            ("rope_scaling.mscale", "as mscale_all_dim"),
            ("num_nextn_predict_layers", "none"),
        ],
        ..LATENT_BACK
    }),
    ..DEEPSEEK_V2
};

/// transformers has no key for the function that chooses experts: it is a sigmoid. llama.cpp takes a
/// softmax where a file has none.
pub(super) const CHOOSES: &[KeyRow] =
    &[("expert_gating_func", Count, Made(|settings| gating(settings).or(Some(2.into()))))];

/// Whether a file is one of GLM's: they have a class of their own.
pub(super) fn is_of_glm(told: &Told<'_>) -> bool {
    told.text("tokenizer.ggml.pre") == "glm4"
}
