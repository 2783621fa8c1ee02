//! Qwen 3.5 with experts.

use super::family::*;
use super::qwen3_5::QWEN3_5;

pub(super) const QWEN3_5_MOE: Family = Family {
    architecture: "qwen35moe",
    shown: Some("qwen35"),
    classes: &["Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"],
    types: &["qwen3_5_moe_text", "qwen3_5_moe"],
    defaults: Some(Defaults {
        sizes: [248320, 2048, 0, 40, 16, 32768],
        key_heads: KeyHeads::Of(2),
        head: Head::Of(256),
        rotated: Some(0.25),
        more: &[
            ("linear_conv_kernel_dim", 4.0),
            ("linear_key_head_dim", 128.0),
            ("linear_value_head_dim", 128.0),
            ("linear_num_key_heads", 16.0),
            ("linear_num_value_heads", 32.0),
            ("moe_intermediate_size", 512.0),
            ("shared_expert_intermediate_size", 512.0),
            ("num_experts_per_tok", 8.0),
            ("num_experts", 256.0),
        ],
        ..DEFAULTS
    }),
    ..QWEN3_5
};
