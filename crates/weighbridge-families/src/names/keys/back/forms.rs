//! The data: which class of transformers the models of each architecture become, and what their
//! files do not say.

use serde_json::{Map, Value as Json, json};

use super::told::{Told, single};
use crate::catalog::Value;

/// A class of models.
pub(super) struct Form {
    /// The architecture of the files.
    pub architecture: &'static str,
    /// The class, as configs name it.
    pub class: &'static str,
    /// Its `model_type`.
    pub model_type: &'static str,
    /// Whether a file of the architecture is of this class. The first that is counts.
    pub is: fn(&Told<'_>) -> bool,
    /// Keys that follow from several of a config's, and the one that is set from them.
    pub made: &'static [(&'static str, &'static str)],
    /// The part of a head that is rotated: the config's key for it.
    pub rotated: Option<&'static str>,
    /// Keys that say whether all of these tensors are there; without a key they have to be.
    pub flags: &'static [(&'static str, &'static [&'static str])],
    /// Values that no file says, but llama.cpp computes with, where the class has another one.
    pub fixed: &'static [(&'static str, Fixed)],
    /// Keys that are left to the class, beside those of all families.
    pub untold: &'static [&'static str],
}

/// A value that no file says.
#[derive(Clone, Copy)]
pub(super) enum Fixed {
    /// None.
    Null,
    /// Yes or no.
    Flag(bool),
    /// What follows from the file and the config so far.
    Made(fn(&Told<'_>, &Map<String, Json>) -> Option<Json>),
}

const Q: &str = "blk.#.attn_q.bias";
const K: &str = "blk.#.attn_k.bias";
const V: &str = "blk.#.attn_v.bias";
const O: &str = "blk.#.attn_output.bias";
const GATE: &str = "blk.#.ffn_gate.bias";
const UP: &str = "blk.#.ffn_up.bias";
const DOWN: &str = "blk.#.ffn_down.bias";

type Flags = &'static [(&'static str, &'static [&'static str])];

const ATTENTION: Flags = &[("attention_bias", &[Q, K, V, O])];
const ATTENTION_AND_MLP: Flags =
    &[("attention_bias", &[Q, K, V, O]), ("mlp_bias", &[GATE, UP, DOWN])];

const LLAMA: Form = Form {
    architecture: "llama",
    class: "LlamaForCausalLM",
    model_type: "llama",
    is: |_| true,
    made: &[],
    rotated: None,
    flags: ATTENTION_AND_MLP,
    fixed: &[],
    untold: &[],
};
const QWEN2: Form = Form {
    architecture: "qwen2",
    class: "Qwen2ForCausalLM",
    model_type: "qwen2",
    flags: &[("", &[Q, K, V])],
    ..LLAMA
};
const GEMMA: Form = Form {
    architecture: "gemma",
    class: "GemmaForCausalLM",
    model_type: "gemma",
    flags: ATTENTION,
    ..LLAMA
};

/// Every class that is known.
pub(super) static FORMS: &[Form] = &[
    Form {
        class: "MixtralForCausalLM",
        model_type: "mixtral",
        is: |told| told.own("expert_count").is_some_and(|count| count.as_u64() > Some(0)),
        flags: &[],
        untold: &["sliding_window"],
        ..LLAMA
    },
    Form {
        class: "MistralForCausalLM",
        model_type: "mistral",
        is: is_mistral,
        flags: &[],
        // The class would take a window, which the file does not have.
        fixed: &[("sliding_window", Fixed::Null)],
        untold: &["sliding_window"],
        ..LLAMA
    },
    LLAMA,
    QWEN2,
    Form {
        architecture: "qwen2moe",
        class: "Qwen2MoeForCausalLM",
        model_type: "qwen2_moe",
        flags: &[("qkv_bias", &[Q, K, V])],
        fixed: &[
            ("norm_topk_prob", Fixed::Flag(false)),
            ("mlp_only_layers", Fixed::Made(layers_without_experts)),
        ],
        untold: &["norm_topk_prob"],
        ..QWEN2
    },
    Form {
        architecture: "qwen3",
        class: "Qwen3ForCausalLM",
        model_type: "qwen3",
        flags: ATTENTION,
        ..QWEN2
    },
    Form {
        architecture: "qwen3moe",
        class: "Qwen3MoeForCausalLM",
        model_type: "qwen3_moe",
        flags: ATTENTION,
        fixed: &[
            ("norm_topk_prob", Fixed::Flag(true)),
            ("mlp_only_layers", Fixed::Made(layers_without_experts)),
        ],
        untold: &["norm_topk_prob"],
        ..QWEN2
    },
    GEMMA,
    Form {
        architecture: "gemma2",
        class: "Gemma2ForCausalLM",
        model_type: "gemma2",
        fixed: &[("query_pre_attn_scalar", Fixed::Made(|_, config| attention_scale(config, 46)))],
        untold: &["query_pre_attn_scalar"],
        ..GEMMA
    },
    Form {
        architecture: "gemma3",
        class: "Gemma3ForCausalLM",
        model_type: "gemma3_text",
        made: &[
            ("final_logit_softcapping", "final_logit_softcapping"),
            ("attention.sliding_window", "sliding_window"),
        ],
        fixed: &[("query_pre_attn_scalar", Fixed::Made(|_, config| attention_scale(config, 62)))],
        untold: &["query_pre_attn_scalar"],
        ..GEMMA
    },
    Form {
        architecture: "phi3",
        class: "Phi3ForCausalLM",
        model_type: "phi3",
        made: &[("attention.sliding_window", "sliding_window")],
        rotated: Some("partial_rotary_factor"),
        flags: &[],
        ..LLAMA
    },
    Form {
        architecture: "granite",
        class: "GraniteForCausalLM",
        model_type: "granite",
        made: &[
            ("attention.scale", "attention_multiplier"),
            ("embedding_scale", "embedding_multiplier"),
            ("residual_scale", "residual_multiplier"),
            ("logit_scale", "logits_scaling"),
        ],
        ..LLAMA
    },
    // Which layers have no rotary positions is the same for llama.cpp and for the class.
    Form {
        architecture: "smollm3",
        class: "SmolLM3ForCausalLM",
        model_type: "smollm3",
        untold: &["no_rope_layers"],
        ..LLAMA
    },
    Form {
        architecture: "olmo2",
        class: "Olmo3ForCausalLM",
        model_type: "olmo3",
        is: |told| told.own("attention.sliding_window").is_some(),
        flags: ATTENTION,
        fixed: &[("layer_types", Fixed::Made(layers_with_windows))],
        ..LLAMA
    },
    Form {
        architecture: "olmo2",
        class: "Olmo2ForCausalLM",
        model_type: "olmo2",
        // With windows it is Olmo 3.
        is: |told| told.own("attention.sliding_window").is_none(),
        flags: ATTENTION,
        ..LLAMA
    },
    Form {
        architecture: "starcoder2",
        class: "Starcoder2ForCausalLM",
        model_type: "starcoder2",
        flags: &[
            ("use_bias", &[Q, K, V, O, UP, DOWN]),
            ("", &["blk.#.attn_norm.bias", "blk.#.ffn_norm.bias", "output_norm.bias"]),
        ],
        untold: &["sliding_window"],
        ..LLAMA
    },
    Form {
        architecture: "command-r",
        class: "CohereForCausalLM",
        model_type: "cohere",
        flags: &[
            ("attention_bias", &[Q, K, V, O]),
            ("use_qk_norm", &["blk.#.attn_q_norm.weight", "blk.#.attn_k_norm.weight"]),
        ],
        ..LLAMA
    },
    // Every fourth layer sees everything, for llama.cpp and for the class.
    Form {
        architecture: "cohere2",
        class: "Cohere2ForCausalLM",
        model_type: "cohere2",
        rotated: Some("rotary_pct"),
        flags: ATTENTION,
        untold: &["layer_types"],
        ..LLAMA
    },
    // Every second layer has a window, for llama.cpp and for the class.
    Form {
        architecture: "gpt-oss",
        class: "GptOssForCausalLM",
        model_type: "gpt_oss",
        flags: &[
            ("attention_bias", &[Q, K, V, O]),
            ("", &["blk.#.ffn_gate_inp.bias"]),
            ("", &["blk.#.ffn_gate_exps.bias", "blk.#.ffn_up_exps.bias"]),
            ("", &["blk.#.ffn_down_exps.bias"]),
        ],
        fixed: &[("rope_scaling", Fixed::Made(not_truncated))],
        untold: &["layer_types", "swiglu_limit"],
        ..LLAMA
    },
    Form {
        architecture: "glm4",
        class: "Glm4ForCausalLM",
        model_type: "glm4",
        rotated: Some("partial_rotary_factor"),
        flags: &[("attention_bias", &[Q, K, V])],
        ..LLAMA
    },
    Form {
        architecture: "glm4moe",
        class: "Glm4MoeForCausalLM",
        model_type: "glm4_moe",
        rotated: Some("partial_rotary_factor"),
        flags: &[
            ("attention_bias", &[Q, K, V]),
            ("use_qk_norm", &["blk.#.attn_q_norm.weight", "blk.#.attn_k_norm.weight"]),
        ],
        fixed: &[("num_hidden_layers", Fixed::Made(layers_of_the_model))],
        ..LLAMA
    },
    Form {
        class: "DeepseekV3ForCausalLM",
        model_type: "deepseek_v3",
        is: |told| !told.layers_with("exp_probs_b.bias").is_empty(),
        ..DEEPSEEK
    },
    DEEPSEEK,
];

const DEEPSEEK: Form = Form {
    architecture: "deepseek2",
    class: "DeepseekV2ForCausalLM",
    model_type: "deepseek_v2",
    made: &[
        ("attention.kv_lora_rank", "kv_lora_rank"),
        ("leading_dense_block_count", "first_k_dense_replace"),
        ("expert_shared_count", "n_shared_experts"),
    ],
    flags: &[],
    fixed: &[
        ("q_lora_rank", Fixed::Made(latent_queries)),
        ("qk_nope_head_dim", Fixed::Made(keys_not_rotated)),
        ("head_dim", Fixed::Made(|_, config| config.get("qk_rope_head_dim").cloned())),
        ("norm_topk_prob", Fixed::Made(weights_are_normalized)),
        ("scoring_func", Fixed::Made(scoring)),
        ("topk_method", Fixed::Made(choosing)),
        ("rope_scaling", Fixed::Made(with_scale_of_attention)),
    ],
    untold: &["mscale", "num_nextn_predict_layers"],
    ..LLAMA
};

/// A model that says so itself. Without biases and rotary factors the class computes the same as
/// Llama's.
fn is_mistral(told: &Told<'_>) -> bool {
    let keys = ["general.name", "general.basename", "general.base_model.0.name"];
    let says = keys.iter().any(|key| told.text(key).to_lowercase().contains("mistral"));
    let biases = told.tensors.iter().any(|(name, _)| name.ends_with(".bias"));
    says && !biases && !told.has("rope_freqs.weight")
}

/// Layers of a model with experts that have none.
fn layers_without_experts(told: &Told<'_>, _: &Map<String, Json>) -> Option<Json> {
    Some(json!(told.layers_with("ffn_down.weight")))
}

/// What llama.cpp divides Gemma's queries by, squared: the width of a head, and in the largest model,
/// which it knows by its layers, what the heads make of the hidden size.
fn attention_scale(config: &Map<String, Json>, largest: u64) -> Option<Json> {
    let count = |key: &str| config.get(key).and_then(Json::as_u64);
    match count("num_hidden_layers") == Some(largest) {
        true => count("hidden_size")?.checked_div(count("num_attention_heads")?).map(Json::from),
        false => count("head_dim").map(Json::from),
    }
}

/// Of the models with experts that OpenAI published, YaRN's bounds are not rounded.
fn not_truncated(_: &Told<'_>, config: &Map<String, Json>) -> Option<Json> {
    let mut scaling = config.get("rope_scaling")?.clone();
    scaling["truncate"] = false.into();
    Some(scaling)
}

/// Layers with a window and those that see everything.
fn layers_with_windows(told: &Told<'_>, _: &Map<String, Json>) -> Option<Json> {
    let Value::List(layers) = told.own("attention.sliding_window_pattern")? else { return None };
    let kinds = layers.iter().map(|layer| match layer {
        Value::Bool(true) => "sliding_attention",
        _ => "full_attention",
    });
    Some(kinds.collect())
}

/// All layers but those that predict further tokens.
fn layers_of_the_model(told: &Told<'_>, _: &Map<String, Json>) -> Option<Json> {
    let count = |key: &str| told.own(key)?.as_u64();
    let next = count("nextn_predict_layers").unwrap_or(0);
    count("block_count")?.checked_sub(next).map(Json::from)
}

/// None, where queries are not made from a shorter vector.
fn latent_queries(told: &Told<'_>, config: &Map<String, Json>) -> Option<Json> {
    let has_none = told.own("attention.q_lora_rank").is_none();
    (has_none && !config.contains_key("q_lora_rank")).then_some(Json::Null)
}

/// How much of a key is not rotated.
fn keys_not_rotated(told: &Told<'_>, config: &Map<String, Json>) -> Option<Json> {
    let all = told.own("attention.key_length_mla")?.as_u64()?;
    all.checked_sub(config.get("qk_rope_head_dim")?.as_u64()?).map(Json::from)
}

fn weights_are_normalized(told: &Told<'_>, _: &Map<String, Json>) -> Option<Json> {
    Some((told.own("expert_weights_norm") == Some(Value::Bool(true))).into())
}

fn scoring(told: &Told<'_>, _: &Map<String, Json>) -> Option<Json> {
    match told.own("expert_gating_func")?.as_u64() {
        Some(1) => Some("softmax".into()),
        Some(2) => Some("sigmoid".into()),
        _ => None,
    }
}

/// How experts are chosen follows from how many groups of them there are.
fn choosing(told: &Told<'_>, config: &Map<String, Json>) -> Option<Json> {
    let groups = config.get("n_group").and_then(Json::as_u64).unwrap_or(1);
    let is_biased = !told.layers_with("exp_probs_b.bias").is_empty();
    Some(match (is_biased, groups) {
        (true, _) => "noaux_tc".into(),
        (_, 0 | 1) => "greedy".into(),
        _ => "group_limited_greedy".into(),
    })
}

/// By how much attention grows with the context. Files have a tenth of it, and configs have it
/// twice.
fn with_scale_of_attention(told: &Told<'_>, config: &Map<String, Json>) -> Option<Json> {
    let mut scaling = config.get("rope_scaling")?.clone();
    if let Some(Value::F32(tenth)) = told.own("rope.scaling.yarn_log_multiplier") {
        for key in ["mscale", "mscale_all_dim"] {
            scaling[key] = single(tenth * 10.0)?;
        }
    }
    Some(scaling)
}
