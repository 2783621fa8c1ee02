//! The data: what transformers takes for granted where a config says nothing, by `model_type`.
//!
//! The converter sees configs through these classes, so a GGUF file has entries that config.json
//! does not have. The values are those of the configuration classes of transformers 5.22.

/// What a class of configs fills in.
#[derive(Debug)]
pub(super) struct Class {
    /// The `model_type` of its configs.
    pub model_type: &'static str,
    /// The values of [`SIZES`]; zero where it has no such key.
    pub sizes: [u64; 6],
    /// Key heads; as many as there are query heads where this is none.
    pub key_heads: Option<u64>,
    /// The width of a head.
    pub head: Head,
    /// The key of the norms' epsilon, and its value.
    pub epsilon: (&'static str, f64),
    /// The base of rotary frequencies.
    pub theta: f64,
    /// Their base in layers with a sliding window, where those have one of their own.
    pub local_theta: Option<f64>,
    /// The part of a head that is rotated, where the class states one.
    pub rotated: Option<f64>,
    /// Whether the context before scaling stands beside the rotary parameters, and is this.
    pub original_context: Option<u64>,
    /// Rotary parameters of models scaled by YaRN, where the config states none.
    pub yarn: &'static [(&'static str, f64)],
    /// Whether it reads in both directions: such a model has positions of its own, which are not
    /// rotary, and a key head for each query head, which goes without saying.
    pub encoder: bool,
    /// Further keys with numbers.
    pub more: &'static [(&'static str, f64)],
    /// Further keys with truth values.
    pub flags: &'static [(&'static str, bool)],
}

/// Whether a class knows the width of a head.
#[derive(Clone, Copy, Debug)]
pub(super) enum Head {
    /// It has no such key.
    Unsaid,
    /// Where the config does not say, what the heads make of the hidden size.
    Share,
    /// What the heads make of the hidden size, whatever the config says.
    AlwaysShare,
    /// Where the config does not say, this.
    Of(u64),
    /// What another key says, whatever the config says.
    AlwaysAs(&'static str),
}

/// The keys that every class has.
pub(super) const SIZES: [&str; 6] = [
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "max_position_embeddings",
];

const LLAMA: Class = Class {
    model_type: "llama",
    sizes: [32000, 4096, 11008, 32, 32, 2048],
    key_heads: None,
    head: Head::Share,
    epsilon: ("rms_norm_eps", 1e-6),
    theta: 10000.0,
    local_theta: None,
    rotated: None,
    original_context: None,
    yarn: &[],
    encoder: false,
    more: &[],
    flags: &[],
};
const QWEN2: Class = Class {
    model_type: "qwen2",
    sizes: [151936, 4096, 22016, 32, 32, 32768],
    key_heads: Some(32),
    head: Head::Unsaid,
    ..LLAMA
};
const GEMMA: Class = Class {
    model_type: "gemma",
    sizes: [256000, 3072, 24576, 28, 16, 8192],
    key_heads: Some(16),
    head: Head::Of(256),
    ..LLAMA
};
const COHERE: Class = Class {
    model_type: "cohere",
    sizes: [256000, 8192, 22528, 40, 64, 8192],
    head: Head::Unsaid,
    epsilon: ("layer_norm_eps", 1e-5),
    theta: 500000.0,
    more: &[("logit_scale", 0.0625)],
    ..LLAMA
};
const OLMO2: Class = Class {
    model_type: "olmo2",
    sizes: [50304, 4096, 11008, 32, 32, 2048],
    head: Head::Unsaid,
    epsilon: ("rms_norm_eps", 1e-5),
    ..LLAMA
};
const QWEN3_5: Class = Class {
    model_type: "qwen3_5_text",
    sizes: [248320, 4096, 12288, 32, 16, 32768],
    key_heads: Some(4),
    head: Head::Of(256),
    rotated: Some(0.25),
    more: &[
        ("linear_conv_kernel_dim", 4.0),
        ("linear_key_head_dim", 128.0),
        ("linear_value_head_dim", 128.0),
        ("linear_num_key_heads", 16.0),
        ("linear_num_value_heads", 32.0),
    ],
    ..LLAMA
};

const BERT: Class = Class {
    model_type: "bert",
    sizes: [30522, 768, 3072, 12, 12, 512],
    head: Head::Unsaid,
    epsilon: ("layer_norm_eps", 1e-12),
    encoder: true,
    ..LLAMA
};

/// Every class that is known.
pub(super) static CLASSES: &[Class] = &[
    LLAMA,
    Class {
        model_type: "mistral",
        sizes: [32000, 4096, 14336, 32, 32, 131072],
        key_heads: Some(8),
        ..LLAMA
    },
    Class {
        model_type: "mixtral",
        sizes: [32000, 4096, 14336, 32, 32, 131072],
        key_heads: Some(8),
        head: Head::Unsaid,
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 1000000.0,
        more: &[("num_experts_per_tok", 2.0), ("num_local_experts", 8.0)],
        ..LLAMA
    },
    QWEN2,
    Class { model_type: "qwen3", head: Head::Of(128), ..QWEN2 },
    Class {
        model_type: "qwen3_moe",
        sizes: [151936, 2048, 6144, 24, 32, 32768],
        key_heads: Some(4),
        more: &[
            ("moe_intermediate_size", 768.0),
            ("num_experts_per_tok", 8.0),
            ("num_experts", 128.0),
        ],
        ..QWEN2
    },
    Class {
        model_type: "qwen2_moe",
        sizes: [151936, 2048, 5632, 24, 16, 32768],
        key_heads: Some(16),
        more: &[
            ("moe_intermediate_size", 1408.0),
            ("shared_expert_intermediate_size", 5632.0),
            ("num_experts_per_tok", 4.0),
            ("num_experts", 60.0),
        ],
        ..QWEN2
    },
    GEMMA,
    Class {
        model_type: "gemma2",
        sizes: [256000, 2304, 9216, 26, 8, 8192],
        key_heads: Some(4),
        more: &[
            ("sliding_window", 4096.0),
            ("final_logit_softcapping", 30.0),
            ("attn_logit_softcapping", 50.0),
        ],
        ..GEMMA
    },
    Class {
        model_type: "gemma3_text",
        sizes: [262208, 2304, 9216, 26, 8, 131072],
        key_heads: Some(4),
        theta: 1000000.0,
        local_theta: Some(10000.0),
        more: &[("sliding_window", 4096.0)],
        ..GEMMA
    },
    Class {
        model_type: "phi3",
        sizes: [32064, 3072, 8192, 32, 32, 4096],
        head: Head::Unsaid,
        epsilon: ("rms_norm_eps", 1e-5),
        rotated: Some(1.0),
        original_context: Some(4096),
        ..LLAMA
    },
    Class {
        model_type: "granite",
        head: Head::Unsaid,
        more: &[
            ("embedding_multiplier", 1.0),
            ("logits_scaling", 1.0),
            ("residual_multiplier", 1.0),
            ("attention_multiplier", 1.0),
        ],
        ..LLAMA
    },
    Class {
        model_type: "smollm3",
        sizes: [128256, 2048, 11008, 36, 16, 32768],
        key_heads: Some(4),
        head: Head::Unsaid,
        theta: 2000000.0,
        ..LLAMA
    },
    OLMO2,
    Class {
        model_type: "olmo3",
        theta: 500000.0,
        local_theta: Some(500000.0),
        more: &[("sliding_window", 4096.0)],
        ..OLMO2
    },
    Class {
        model_type: "starcoder2",
        sizes: [49152, 3072, 12288, 30, 24, 4096],
        key_heads: Some(2),
        head: Head::Unsaid,
        epsilon: ("norm_epsilon", 1e-5),
        ..LLAMA
    },
    COHERE,
    Class {
        model_type: "cohere2",
        head: Head::AlwaysShare,
        theta: 10000.0,
        more: &[("logit_scale", 0.0625), ("sliding_window", 4096.0)],
        ..COHERE
    },
    Class {
        model_type: "gpt_oss",
        sizes: [201088, 2880, 2880, 36, 64, 131072],
        key_heads: Some(8),
        head: Head::Of(64),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 150000.0,
        yarn: &[
            ("factor", 32.0),
            ("beta_fast", 32.0),
            ("beta_slow", 1.0),
            ("original_max_position_embeddings", 4096.0),
        ],
        more: &[
            ("num_local_experts", 128.0),
            ("num_experts_per_tok", 4.0),
            ("sliding_window", 128.0),
        ],
        ..LLAMA
    },
    Class {
        model_type: "glm4",
        sizes: [151552, 4096, 13696, 40, 32, 131072],
        key_heads: Some(2),
        head: Head::Of(128),
        epsilon: ("rms_norm_eps", 1.5625e-7),
        rotated: Some(0.5),
        ..LLAMA
    },
    BERT,
    Class { model_type: "xlm-roberta", more: &[("pad_token_id", 1.0)], ..BERT },
    Class {
        model_type: "roberta",
        sizes: [50265, 768, 3072, 12, 12, 512],
        more: &[("pad_token_id", 1.0)],
        ..BERT
    },
    Class {
        model_type: "glm4_moe",
        sizes: [151552, 4096, 10944, 46, 96, 131072],
        key_heads: Some(8),
        head: Head::Unsaid,
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
            ("num_nextn_predict_layers", 1.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..LLAMA
    },
    Class {
        model_type: "deepseek_v2",
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
        ..LLAMA
    },
    Class {
        model_type: "deepseek_v3",
        sizes: [129280, 7168, 18432, 61, 128, 4096],
        key_heads: Some(128),
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
        ..LLAMA
    },
    Class {
        model_type: "llama4_text",
        sizes: [202048, 5120, 8192, 48, 40, 131072],
        key_heads: Some(8),
        head: Head::Of(128),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 500000.0,
        more: &[
            ("intermediate_size_mlp", 16384.0),
            ("num_experts_per_tok", 1.0),
            ("num_local_experts", 16.0),
            ("interleave_moe_layer_step", 1.0),
        ],
        ..LLAMA
    },
    QWEN3_5,
    Class {
        model_type: "qwen3_5_moe_text",
        sizes: [248320, 2048, 0, 40, 16, 32768],
        key_heads: Some(2),
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
        ..QWEN3_5
    },
];
