//! Which settings change a model's output.

/// Keys of configs that describe, train or load a model, or that its weights show anyway.
#[rustfmt::skip]
const DESCRIPTIVE: &[&str] = &[
    "architectures", "transformers_version", "torch_dtype", "dtype", "quantization_config",
    "quantization", "compression_config", "use_cache", "auto_map", "pretraining_tp", "vocab_size",
    "max_position_embeddings", "n_positions", "n_ctx", "model_max_length", "max_length",
    "tie_word_embeddings", "pad_token_id", "return_dict", "torchscript", "gradient_checkpointing",
    "output_attentions", "output_hidden_states", "output_router_logits", "use_bfloat16", "id2label",
    "label2id", "num_labels", "task_specific_params", "finetuning_task", "problem_type",
    "tokenizer_class", "text_config", "vision_config", "hidden_dropout", "attention_dropout",
    "classifier_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop", "attn_implementation",
    "router_aux_loss_coef", "initializer_range", "initializer_factor", "is_decoder",
    "is_encoder_decoder", "cross_attention_hidden_size", "head_dim",
    "mlp_only_layers", "model_name", "license",
];

/// Keys that count also where only one side has them: no default makes the sides the same.
#[rustfmt::skip]
const STRONG: &[&str] = &[
    "rope_theta", "sliding_window", "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon",
    "final_logit_softcapping", "attn_logit_softcapping", "logit_scale", "embedding_multiplier", "residual_multiplier",
    "attention_multiplier", "logits_scaling",
];

/// Whether a key of a config that both sides have changes the output.
pub(super) fn of_config(key: &str) -> bool {
    let is_private = key.starts_with('_') || key.starts_with("unsloth") || key.contains("dropout");
    !is_private && !DESCRIPTIVE.contains(&key)
}

/// Whether a key of a config changes the output though only one side has it.
pub(super) fn of_config_alone(key: &str) -> bool {
    STRONG.contains(&key) || ["rope_scaling.rope_type", "rope_scaling.factor"].contains(&key)
}

/// Ends of metadata keys that describe a model, or that its weights show anyway.
const DESCRIPTIVE_ENDS: &[&str] = &[".context_length", ".vocab_size", ".padding_token_id"];

/// Ends of tokenizers' keys that versions of the converter write differently, or users override.
const BY_VERSION: &[&str] = &[".token_type", ".scores", ".pre"];

/// Whether a key of metadata that both sides have changes the output; `is_converted` if one side is
/// computed from a repository.
pub(super) fn of_metadata(key: &str, is_converted: bool) -> bool {
    let is_descriptive = key.starts_with("general.") && key != "general.architecture"
        || key.starts_with("quantize.")
        || key.starts_with("split.")
        || DESCRIPTIVE_ENDS.iter().any(|end| key.ends_with(end));
    !(is_descriptive || is_converted && BY_VERSION.iter().any(|end| key.ends_with(end)))
}

/// Whether a key of metadata changes the output though only one side has it.
pub(super) fn of_metadata_alone(key: &str, is_converted: bool) -> bool {
    let scaling = ["rope.scaling.type", "rope.scaling.factor", "rope.freq_base", "chat_template"];
    let own = ["attention.sliding_window", "_softcapping", "logit_scale", "_token_id"];
    let ends = |list: &[&str]| list.iter().any(|end| key.ends_with(end));
    of_metadata(key, is_converted) && (ends(&scaling) || !is_converted && ends(&own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_output_counts() {
        let counted =
            ["hidden_act", "layer_types", "rms_norm_eps", "eos_token_id", "rope_scaling.factor"];
        assert!(counted.iter().all(|key| of_config(key)));
        let ignored = ["torch_dtype", "_name_or_path", "quantization_config", "attention_dropout"];
        assert!(!ignored.iter().any(|key| of_config(key)));
        assert!(of_metadata("tokenizer.ggml.scores", false));
        assert!(!of_metadata("tokenizer.ggml.scores", true));
        assert!(of_metadata("general.architecture", true) && !of_metadata("general.name", true));
        assert!(!of_metadata("quantize.imatrix.file", false));
        assert!(of_metadata_alone("llama.attention.sliding_window", false));
        assert!(!of_metadata_alone("llama.attention.sliding_window", true));
    }
}
