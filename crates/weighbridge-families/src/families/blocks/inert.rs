//! Keys of configs that change nothing about what a model computes from tokens, in any family.

/// Such keys. What weights themselves tell is among them, and what tokenizers have.
#[rustfmt::skip]
pub(crate) const INERT: &[&str] = &[
    // The software, and where the model is from.
    "_name_or_path", "_attn_implementation", "_attn_implementation_autoset", "_commit_hash",
    "_experts_implementation", "architectures", "attn_implementation", "auto_map", "model_type",
    "name_or_path", "tokenizer_class", "transformers.js_config", "transformers_version",
    "transformers_weights", "unsloth_fixed", "unsloth_version", "use_flash_attn",
    "use_flash_attention_2", "use_cache", "use_cache_kernel", "use_cache_quantization",
    // The numbers of weights, and which weights there are.
    "compression_config", "dtype", "fp32_residual_connection", "quantization",
    "quantization_config", "tie_word_embeddings", "torch_dtype", "use_bfloat16", "vocab_size",
    // The context: texts may be as long as users want.
    "max_length", "max_position_embeddings", "max_sequence_length", "model_max_length", "seq_length",
    "n_ctx", "n_positions", "max_seq_len", "sequence_length",
    // Training.
    "attention_dropout", "attention_probs_dropout_prob", "attn_pdrop", "aux_loss_alpha",
    "classifier_dropout", "classifier_dropout_prob", "embd_pdrop", "embedding_dropout", "ep_size",
    "ffn_dropout", "gradient_checkpointing", "hidden_dropout", "hidden_dropout_prob",
    "initializer_factor", "initializer_range", "init_std", "mlp_dropout", "output_router_logits",
    "pretraining_tp", "resid_pdrop", "residual_dropout", "router_aux_loss_coef",
    "router_jitter_noise", "router_z_loss_coef", "seq_aux", "summary_first_dropout", "embed_dropout",
    // What programs around the model do.
    "add_cross_attention", "bad_words_ids", "begin_suppress_tokens", "chunk_size_feed_forward",
    "cross_attention_hidden_size", "decoder_start_token_id", "diversity_penalty", "do_sample",
    "early_stopping", "encoder_no_repeat_ngram_size", "exponential_decay_length_penalty",
    "finetuning_task", "forced_bos_token_id", "forced_eos_token_id", "id2label", "is_decoder",
    "is_encoder_decoder", "keys_to_ignore_at_inference", "label2id", "length_penalty", "min_length",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_labels", "num_return_sequences",
    "output_attentions", "output_hidden_states", "output_past", "output_scores", "prefix", "problem_type",
    "pruned_heads", "remove_invalid_values", "repetition_penalty", "return_dict",
    "return_dict_in_generate", "suppress_tokens", "task_specific_params", "temperature",
    "tf_legacy_loss", "tie_encoder_decoder", "top_k", "top_p", "torchscript", "typical_p",
    // Tokens, which the tokenizer's entries have.
    "bos_token", "bos_token_id", "eos_token", "eos_token_id", "pad_token", "pad_token_id",
    "sep_token_id", "unk_token_id", "mask_token_id", "cls_token_id", "ignore_index",
    // Other parts of a model of several, which have files of their own.
    "audio_config", "audio_token_id", "audio_token_index", "boi_token_index", "eoi_token_index",
    "boi_token_id", "eoi_token_id", "image_token_id", "image_token_index", "mm_tokens_per_image",
    "multimodal_projector_bias", "projector_hidden_act", "spatial_merge_size", "text_config",
    "language_model_only", "video_token_id", "vision_config", "vision_end_token_id", "vision_feature_layer",
    "vision_feature_select_strategy", "vision_start_token_id", "vision_token_id", "thinker_config",
    "talker_config", "token2wav_config", "code2wav_config", "enable_audio_output", "enable_talker",
    "llm_config", "lm_config", "language_config", "audio_start_token_id", "audio_end_token_id",
    "tts_bos_token_id", "tts_eos_token_id", "tts_pad_token_id", "im_start_token_id", "im_end_token_id",
    "user_token_id", "assistant_token_id", "system_token_id",
];
