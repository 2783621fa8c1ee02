//! Youtu: DeepSeek's attention without experts.

use super::deepseek_v2::{DEEPSEEK_V2, KEYS, LATENT_BACK, RULES};
use super::family::*;

pub(super) const YOUTU: Family = Family {
    classes: &["YoutuForCausalLM"],
    types: &["youtu"],
    rows: &[TRUNK, ATTENTION, LATENT_ATTENTION, MLP, TWO_NORMS],
    predicts: false,
    drops_next: false,
    keys: &[BASE, KEYS],
    rules: &[YOUTU_RULES, RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [128256, 2048, 6144, 32, 16, 131072],
        key_heads: KeyHeads::Of(16),
        head: Head::AlwaysAs("qk_rope_head_dim"),
        more: &[
            ("kv_lora_rank", 512.0),
            ("q_lora_rank", 1536.0),
            ("qk_rope_head_dim", 64.0),
            ("v_head_dim", 128.0),
            ("qk_nope_head_dim", 128.0),
        ],
        ..DEFAULTS
    }),
    back: Some(Back {
        is: |told| told.own("expert_count").is_none(),
        made: &[("attention.kv_lora_rank", "kv_lora_rank")],
        fixed: &[
            ("q_lora_rank", latent_queries),
            ("qk_nope_head_dim", keys_not_rotated),
            ("head_dim", |_, config| config.get("qk_rope_head_dim").cloned()),
            ("rope_scaling", with_scale_of_attention),
        ],
        untold: &[
            ("num_key_value_heads", ""),
            ("attention_bias", "false"),
            ("rope_interleave", "true"),
            ("rope_scaling.mscale", "as mscale_all_dim"),
        ],
        ..LATENT_BACK
    }),
    ..DEEPSEEK_V2
};

const YOUTU_RULES: &[Rule] = &[free(&["embedding_initializer_range", "tie_word_embeddings"])];
