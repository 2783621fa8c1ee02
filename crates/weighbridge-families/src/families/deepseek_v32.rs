//! DeepSeek V3.2: DeepSeek V3 with attention of the tokens that an indexer chooses.

use super::deepseek_v2::{KEYS, LATENT_BACK, RULES};
use super::deepseek_v3::{CHOOSES, DEEPSEEK_V3};
use super::family::*;
use super::glm_moe_dsa::{INDEXED, INDEXER, INDEXER_KEYS};
use super::glm4_moe::layers_of_the_model;
use super::glm4_moe_lite::{DENSE_FIRST, kinds_of_layers};

pub(super) const DEEPSEEK_V32: Family = Family {
    architecture: "deepseek32",
    classes: &["DeepseekV32ForCausalLM"],
    types: &["deepseek_v32"],
    rows: &[
        TRUNK,
        ATTENTION,
        LATENT_ATTENTION,
        INDEXER,
        MLP,
        TWO_NORMS,
        EXPERTS,
        SHARED_EXPERTS,
        NEXTN,
    ],
    drops_next: false,
    counts_next: Some("num_nextn_predict_layers"),
    keys: &[BASE, KEYS, CHOOSES, INDEXER_KEYS],
    rules: &[SCALED, INDEXED, DENSE_FIRST, RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [129280, 7168, 18432, 61, 128, 163840],
        key_heads: KeyHeads::Of(128),
        head: Head::AlwaysAs("qk_rope_head_dim"),
        more: &[
            ("first_k_dense_replace", 3.0),
            ("index_head_dim", 128.0),
            ("index_n_heads", 64.0),
            ("index_topk", 2048.0),
            ("kv_lora_rank", 512.0),
            ("moe_intermediate_size", 2048.0),
            ("n_group", 8.0),
            ("n_routed_experts", 256.0),
            ("n_shared_experts", 1.0),
            ("num_experts_per_tok", 8.0),
            ("q_lora_rank", 1536.0),
            ("qk_nope_head_dim", 128.0),
            ("qk_rope_head_dim", 64.0),
            ("routed_scaling_factor", 2.5),
            ("topk_group", 4.0),
            ("v_head_dim", 128.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    back: Some(Back {
        is: |_| true,
        flags: &[("", &["blk.#.indexer.k_norm.bias"])],
        made: &[
            ("attention.kv_lora_rank", "kv_lora_rank"),
            ("leading_dense_block_count", "first_k_dense_replace"),
            ("expert_shared_count", "n_shared_experts"),
            ("nextn_predict_layers", "num_nextn_predict_layers"),
        ],
        fixed: &[
            ("num_hidden_layers", layers_of_the_model),
            ("q_lora_rank", latent_queries),
            ("qk_nope_head_dim", keys_not_rotated),
            ("head_dim", |_, config| config.get("qk_rope_head_dim").cloned()),
            ("norm_topk_prob", weights_are_normalized),
            ("rope_scaling", with_scale_of_attention),
            ("mlp_layer_types", kinds_of_layers),
        ],
        untold: &[
            ("num_key_value_heads", ""),
            ("attention_bias", "false"),
            ("mlp_bias", "false"),
            ("rope_scaling.mscale", "as mscale_all_dim"),
        ],
        ..LATENT_BACK
    }),
    ..DEEPSEEK_V3
};

const SCALED: &[Rule] = &[differs(
    &["rope_scaling.mscale", "rope_scaling.mscale_all_dim"],
    |case, scale| {
        let both = [scale, &case.value("rope_scaling.mscale_all_dim")];
        case.value("rope_scaling.rope_type") != "yarn"
            || both.iter().all(|scale| scale.as_f64() == Some(1.0))
    },
    "scales attention as if mscale and mscale_all_dim were 1",
)];
