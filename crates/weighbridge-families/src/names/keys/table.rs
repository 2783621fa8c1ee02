//! The data: which entries the file of each family has, in order, and where their values are.

use super::encoders::{classes, context_behind_padding, nomic_context, pooling};
use super::families::Get::{Any, FileType, Made, MadeOf, Needed, Rope, Yarn};
use super::families::Kind::{Count, Counts, Flag, Flags, Number, Text, Texts};
use super::families::{Family, Row};
use super::made::*;
use crate::tokenizer::Kind::{
    Bert, BytePairs, Gemma, Gemma2, Gemma3, Glm, GlmMoe, LlamaLike, NomicBert, Phi3, QwenLike,
    Roberta, XlmRoberta,
};

const LAYERS: &[&str] = &["n_layers", "num_hidden_layers", "n_layer", "num_layers"];
const CONTEXT: &[&str] = &[
    "max_position_embeddings",
    "n_ctx",
    "n_positions",
    "max_length",
    "max_sequence_length",
    "model_max_length",
];
const INNER: &[&str] = &[
    "prefix_dense_intermediate_size",
    "dense_intermediate_size",
    "intermediate_size",
    "n_inner",
    "hidden_dim",
];
const ORIGINAL: &[&str] = &["original_max_position_embeddings"];

/// What most files have.
const BASE: &[Row] = &[
    ("block_count", Count, Needed(LAYERS)),
    ("context_length", Count, Any(CONTEXT)),
    ("embedding_length", Count, Any(&["hidden_size", "n_embd", "dim"])),
    ("feed_forward_length", Count, Any(INNER)),
    ("attention.head_count", Count, Any(&["num_attention_heads", "n_head", "n_heads"])),
    ("attention.head_count_kv", Count, Any(&["num_key_value_heads", "n_kv_heads"])),
    ("attention.causal", Flag, Made(not_causal)),
    ("rope.scaling.type", Text, Made(scaling_type)),
    ("rope.scaling.factor", Number, Made(scaling_factor)),
    ("rope.scaling.original_context_length", Count, Yarn(ORIGINAL)),
    ("rope.scaling.yarn_ext_factor", Number, Yarn(&["extrapolation_factor"])),
    ("rope.scaling.yarn_attn_factor", Number, Yarn(&["attention_factor", "attn_factor"])),
    ("rope.scaling.yarn_beta_fast", Number, Yarn(&["beta_fast"])),
    ("rope.scaling.yarn_beta_slow", Number, Yarn(&["beta_slow"])),
    ("rope.dimension_sections", Counts, Made(sections)),
    ("rope.freq_base", Number, Rope(&["rope_theta"])),
    ("rope.freq_base_swa", Number, Made(local_theta)),
    RMS,
    (
        "attention.layer_norm_epsilon",
        Number,
        Any(&["layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"]),
    ),
    ("expert_count", Count, Any(&["num_local_experts", "num_experts", "n_routed_experts"])),
    (
        "expert_used_count",
        Count,
        Any(&["num_experts_per_tok", "num_experts_per_token", "top_k_experts"]),
    ),
    ("expert_group_count", Count, Any(&["n_group"])),
    ("expert_group_used_count", Count, Any(&["topk_group"])),
    ("expert_gating_func", Count, Made(gating)),
    KEY_LENGTH,
    VALUE_LENGTH,
    FILE_TYPE,
];
const RMS: Row = ("attention.layer_norm_rms_epsilon", Number, Any(&["rms_norm_eps", "norm_eps"]));
const KEY_LENGTH: Row = ("attention.key_length", Count, Any(&["head_dim"]));
const VALUE_LENGTH: Row = ("attention.value_length", Count, Any(&["head_dim"]));
const FILE_TYPE: Row = ("general.file_type", Count, FileType);
const VOCABULARY: Row = ("vocab_size", Count, Needed(&["vocab_size"]));
const WINDOW: Row = ("attention.sliding_window", Count, Needed(&["sliding_window"]));
const LOGIT_SCALE: Row = ("logit_scale", Number, Needed(&["logit_scale"]));
const NO_SCALING: Row = ("rope.scaling.type", Text, Made(no_scaling));
const POOLING: Row = ("pooling_type", Count, Made(pooling));

const OF_LLAMA: &[Row] = &[VOCABULARY, ("rope.dimension_count", Count, Made(head_width))];
const EXPERTS: &[Row] = &[
    ("expert_feed_forward_length", Count, Any(&["moe_intermediate_size"])),
    ("expert_shared_feed_forward_length", Count, Any(&["shared_expert_intermediate_size"])),
];
const OF_GRANITE: &[Row] = &[
    ("attention.scale", Number, Made(|settings| nonzero(settings, "attention_multiplier"))),
    ("embedding_scale", Number, Made(|settings| nonzero(settings, "embedding_multiplier"))),
    ("residual_scale", Number, Made(|settings| nonzero(settings, "residual_multiplier"))),
    ("logit_scale", Number, Made(|settings| nonzero(settings, "logits_scaling"))),
];
const GEMMA: &[Row] = &[
    ("context_length", Count, Needed(&["max_position_embeddings"])),
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("attention.head_count", Count, Needed(&["num_attention_heads"])),
    ("attention.head_count_kv", Count, Needed(&["num_key_value_heads", "num_attention_heads"])),
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["rms_norm_eps"])),
    ("attention.key_length", Count, Needed(&["head_dim"])),
    ("attention.value_length", Count, Needed(&["head_dim"])),
    FILE_TYPE,
];
const OF_GEMMA2: &[Row] = &[
    ("attn_logit_softcapping", Number, Needed(&["attn_logit_softcapping"])),
    ("final_logit_softcapping", Number, Needed(&["final_logit_softcapping"])),
    WINDOW,
];
const OF_GEMMA3: &[Row] = &[
    (
        "final_logit_softcapping",
        Number,
        Made(|settings| nonzero(settings, "final_logit_softcapping")),
    ),
    ("attention.sliding_window", Count, Made(window_unless_everywhere)),
];
const PHI3: &[Row] = &[
    ("context_length", Count, Needed(&["n_positions", "max_position_embeddings"])),
    ("rope.scaling.original_context_length", Count, Rope(ORIGINAL)),
    ("embedding_length", Count, Needed(&["hidden_size", "n_embd"])),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.head_count", Count, Needed(&["num_attention_heads", "n_head"])),
    ("attention.head_count_kv", Count, Needed(&["num_key_value_heads", "n_head_kv"])),
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["rms_norm_eps"])),
    ("rope.dimension_count", Count, Made(rotated_hidden)),
    ("rope.freq_base", Number, Rope(&["rope_theta"])),
    FILE_TYPE,
    ("attention.sliding_window", Count, Made(window_or_none)),
];
const OF_COMMAND_R: &[Row] = &[
    ("context_length", Count, Any(&["model_max_length", "max_position_embeddings"])),
    LOGIT_SCALE,
    NO_SCALING,
];
const OF_OLMO: &[Row] = &[
    ("attention.sliding_window", Count, Any(&["sliding_window"])),
    ("attention.sliding_window_pattern", Flags, Made(sliding_layers)),
];
const OF_GLM4_MOE: &[Row] = &[
    ("block_count", Count, Made(layers_and_next)),
    ("rope.dimension_count", Count, Made(rotated_width)),
    ("expert_count", Count, Any(&["n_routed_experts"])),
    ("expert_feed_forward_length", Count, Any(&["moe_intermediate_size"])),
    ("expert_shared_count", Count, Any(&["n_shared_experts"])),
    ("leading_dense_block_count", Count, Any(&["first_k_dense_replace"])),
    ("expert_gating_func", Count, Made(sigmoid)),
    ("expert_weights_scale", Number, Any(&["routed_scaling_factor"])),
    ("expert_weights_norm", Flag, Any(&["norm_topk_prob"])),
    ("nextn_predict_layers", Count, Any(&["num_nextn_predict_layers"])),
];
const OF_DEEPSEEK: &[Row] = &[
    ("attention.head_count_kv", Count, Made(one)),
    ("leading_dense_block_count", Count, Made(dense_layers)),
    VOCABULARY,
    ("attention.q_lora_rank", Count, Any(&["q_lora_rank"])),
    ("attention.kv_lora_rank", Count, Made(latent_length)),
    ("attention.key_length", Count, MadeOf("qk_rope_head_dim", latent_key_length)),
    ("attention.value_length", Count, Made(latent_length)),
    ("attention.key_length_mla", Count, MadeOf("qk_nope_head_dim", made_key_length)),
    ("attention.value_length_mla", Count, Needed(&["v_head_dim"])),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size", "intermediate_size"])),
    ("expert_count", Count, Any(&["n_routed_experts"])),
    ("expert_shared_count", Count, Made(shared_experts)),
    ("expert_weights_scale", Number, Any(&["routed_scaling_factor"])),
    ("expert_weights_norm", Flag, Made(normalized)),
    ("rope.dimension_count", Count, Needed(&["qk_rope_head_dim"])),
    ("rope.scaling.yarn_log_multiplier", Number, Made(yarn_multiplier)),
];
const OF_LLAMA4: &[Row] = &[
    ("feed_forward_length", Count, Needed(&["intermediate_size_mlp"])),
    ("interleave_moe_layer_step", Count, Needed(&["interleave_moe_layer_step"])),
    ("expert_feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("attention.sliding_window", Count, Made(no_window)),
];
const OF_QWEN3_5: &[Row] = &[
    ("block_count", Count, Made(layers_and_beside)),
    ("nextn_predict_layers", Count, Made(layers_beside)),
    ("ssm.conv_kernel", Count, Needed(&["linear_conv_kernel_dim"])),
    ("ssm.state_size", Count, Needed(&["linear_key_head_dim"])),
    ("ssm.group_count", Count, Needed(&["linear_num_key_heads"])),
    ("ssm.time_step_rank", Count, Needed(&["linear_num_value_heads"])),
    ("ssm.inner_size", Count, MadeOf("linear_value_head_dim", all_values)),
    ("attention.recurrent_layers", Flags, Made(recurrent_layers)),
    ("full_attention_interval", Count, Made(full_attention_interval)),
    ("rope.dimension_count", Count, Made(rotated_width)),
    ("rope.dimension_sections", Counts, Made(usual_sections)),
];
const OF_COHERE2: &[Row] = &[
    LOGIT_SCALE,
    WINDOW,
    VOCABULARY,
    ("rope.dimension_count", Count, MadeOf("rotary_pct", rotated_share)),
    NO_SCALING,
];

const OF_GPT_OSS: &[Row] =
    &[WINDOW, ("expert_feed_forward_length", Count, Needed(&["intermediate_size"]))];
const BOTH_WAYS: &[Row] = &[
    ("attention.causal", Flag, Made(|_| Some(false.into()))),
    POOLING,
    ("classifier.output_labels", Texts, Made(classes)),
];
const BEHIND_PADDING: &[Row] = &[("context_length", Count, Made(context_behind_padding))];

const LLAMA: Family = Family {
    architecture: "llama",
    classes: &[
        "LLaMAForCausalLM",
        "LlamaForCausalLM",
        "MistralForCausalLM",
        "MixtralForCausalLM",
        "LlamaModel",
    ],
    types: &["llama", "mistral", "mixtral"],
    ignored: &[],
    early: &[],
    rows: &[BASE, OF_LLAMA],
    has_rope_freqs: true,
    tokenizer: Some(LlamaLike),
    has_sections: false,
};
const QWEN2: Family = Family {
    architecture: "qwen2",
    classes: &["Qwen2ForCausalLM", "Qwen2Model"],
    types: &["qwen2"],
    rows: &[BASE, &[POOLING]],
    has_rope_freqs: false,
    tokenizer: Some(QwenLike),
    ..LLAMA
};

/// Every family that is known.
pub(super) static FAMILIES: &[Family] = &[
    LLAMA,
    QWEN2,
    Family {
        architecture: "qwen2moe",
        classes: &["Qwen2MoeForCausalLM"],
        types: &["qwen2_moe"],
        rows: &[BASE, EXPERTS],
        ..QWEN2
    },
    Family {
        architecture: "qwen3",
        classes: &["Qwen3ForCausalLM", "Qwen3Model"],
        types: &["qwen3"],
        ..QWEN2
    },
    Family {
        architecture: "qwen3moe",
        classes: &["Qwen3MoeForCausalLM"],
        types: &["qwen3_moe"],
        rows: &[BASE, EXPERTS],
        ..QWEN2
    },
    Family {
        architecture: "gemma",
        classes: &["GemmaForCausalLM"],
        types: &["gemma"],
        rows: &[GEMMA],
        tokenizer: Some(Gemma),
        ..QWEN2
    },
    Family {
        architecture: "gemma2",
        classes: &["Gemma2ForCausalLM"],
        types: &["gemma2"],
        rows: &[GEMMA, OF_GEMMA2],
        tokenizer: Some(Gemma2),
        ..QWEN2
    },
    Family {
        architecture: "gemma3",
        classes: &["Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"],
        types: &["gemma3", "gemma3_text"],
        rows: &[BASE, OF_GEMMA3],
        tokenizer: Some(Gemma3),
        ..QWEN2
    },
    Family {
        architecture: "phi3",
        classes: &["Phi3ForCausalLM"],
        types: &["phi3"],
        early: &[("rope.scaling.attn_factor", Number, Made(attention_factor))],
        rows: &[PHI3],
        tokenizer: Some(Phi3),
        ..QWEN2
    },
    Family {
        architecture: "granite",
        classes: &["GraniteForCausalLM"],
        types: &["granite"],
        ignored: &["head_dim"],
        rows: &[BASE, OF_LLAMA, OF_GRANITE],
        ..LLAMA
    },
    Family {
        architecture: "smollm3",
        classes: &["SmolLM3ForCausalLM"],
        types: &["smollm3"],
        ..LLAMA
    },
    Family {
        architecture: "olmo2",
        classes: &["Olmo2ForCausalLM", "Olmo3ForCausalLM"],
        types: &["olmo2", "olmo3"],
        rows: &[BASE, OF_OLMO],
        tokenizer: Some(BytePairs),
        ..QWEN2
    },
    Family {
        architecture: "starcoder2",
        classes: &["Starcoder2ForCausalLM"],
        types: &["starcoder2"],
        tokenizer: Some(BytePairs),
        rows: &[BASE],
        ..QWEN2
    },
    Family {
        architecture: "command-r",
        classes: &["CohereForCausalLM"],
        types: &["cohere"],
        rows: &[BASE, OF_COMMAND_R],
        tokenizer: Some(BytePairs),
        ..QWEN2
    },
    Family {
        architecture: "cohere2",
        classes: &["Cohere2ForCausalLM"],
        types: &["cohere2"],
        rows: &[BASE, OF_COHERE2],
        tokenizer: Some(BytePairs),
        ..QWEN2
    },
    Family {
        architecture: "gpt-oss",
        classes: &["GptOssForCausalLM"],
        types: &["gpt_oss"],
        rows: &[BASE, OF_GPT_OSS],
        tokenizer: Some(BytePairs),
        ..QWEN2
    },
    Family {
        architecture: "glm4",
        classes: &["Glm4ForCausalLM"],
        types: &["glm4"],
        rows: &[BASE, &[("rope.dimension_count", Count, Made(rotated_width))]],
        tokenizer: Some(Glm),
        ..QWEN2
    },
    Family {
        architecture: "bert",
        classes: &["BertModel", "BertForMaskedLM", "BertForSequenceClassification"],
        types: &["bert"],
        rows: &[BASE, BOTH_WAYS],
        tokenizer: Some(Bert),
        ..QWEN2
    },
    Family {
        architecture: "bert",
        classes: &["RobertaModel", "RobertaForSequenceClassification"],
        types: &["roberta"],
        rows: &[BASE, BEHIND_PADDING, BOTH_WAYS],
        tokenizer: Some(Roberta),
        ..QWEN2
    },
    Family {
        architecture: "bert",
        classes: &["XLMRobertaModel", "XLMRobertaForSequenceClassification"],
        types: &["xlm-roberta"],
        rows: &[BASE, BEHIND_PADDING, BOTH_WAYS],
        tokenizer: Some(XlmRoberta),
        ..QWEN2
    },
    Family {
        architecture: "nomic-bert",
        classes: &["NomicBertModel"],
        types: &["nomic_bert"],
        rows: &[BASE, &[("context_length", Count, Made(nomic_context))], BOTH_WAYS],
        tokenizer: Some(NomicBert),
        ..QWEN2
    },
    Family {
        architecture: "glm4moe",
        classes: &["Glm4MoeForCausalLM"],
        types: &["glm4_moe"],
        rows: &[BASE, OF_GLM4_MOE],
        tokenizer: Some(GlmMoe),
        ..QWEN2
    },
    Family {
        architecture: "deepseek2",
        classes: &["DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM"],
        types: &["deepseek_v2", "deepseek_v3"],
        rows: &[BASE, OF_DEEPSEEK],
        tokenizer: Some(BytePairs),
        ..QWEN2
    },
    Family {
        architecture: "llama4",
        classes: &["Llama4ForCausalLM", "Llama4ForConditionalGeneration"],
        types: &["llama4", "llama4_text"],
        rows: &[BASE, OF_LLAMA, OF_LLAMA4],
        tokenizer: Some(BytePairs),
        ..LLAMA
    },
    Family {
        architecture: "qwen35",
        classes: &["Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"],
        types: &["qwen3_5", "qwen3_5_text"],
        rows: &[BASE, EXPERTS, OF_QWEN3_5],
        tokenizer: Some(BytePairs),
        has_sections: true,
        ..QWEN2
    },
    Family {
        architecture: "qwen35moe",
        classes: &["Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration"],
        types: &["qwen3_5_moe", "qwen3_5_moe_text"],
        rows: &[BASE, EXPERTS, OF_QWEN3_5],
        tokenizer: Some(BytePairs),
        has_sections: true,
        ..QWEN2
    },
];
