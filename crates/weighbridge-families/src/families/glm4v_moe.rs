//! The language model of GLM 4.5V.

use super::family::*;
use super::glm4_moe::{GLM4_MOE, RULES};
use super::glm4v::TOKENS;

pub(super) const GLM4V_MOE: Family = Family {
    classes: &["Glm4vMoeForConditionalGeneration"],
    types: &["glm4v_moe_text", "glm4v_moe"],
    prefix: "model.language_model.",
    has_sections: true,
    rules: &[RULES, TOKENS, ROPE],
    counts_next: None,
    defaults: Some(Defaults {
        sizes: [151424, 4096, 10944, 46, 96, 65536],
        key_heads: KeyHeads::Of(8),
        epsilon: ("rms_norm_eps", 1e-5),
        rotated: Some(0.5),
        more: &[
            ("moe_intermediate_size", 1408.0),
            ("num_experts_per_tok", 8.0),
            ("n_shared_experts", 1.0),
            ("n_routed_experts", 128.0),
            ("routed_scaling_factor", 1.0),
            ("n_group", 1.0),
            ("topk_group", 1.0),
            ("first_k_dense_replace", 1.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    back: None,
    ..GLM4_MOE
};
