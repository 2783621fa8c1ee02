//! Llama, and the many that are made as it is.

use super::family::*;

pub(super) const LLAMA: Family = Family {
    architecture: "llama",
    classes: &[
        "LlamaForCausalLM",
        "LLaMAForCausalLM",
        "LlamaModel",
        "LlavaForConditionalGeneration",
        "VoxtralForConditionalGeneration",
        "VLlama3ForCausalLM",
        "IQuestCoderForCausalLM",
    ],
    types: &["llama"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, MIXTRAL_EXPERTS, EXPERTS],
    pairs: true,
    keys: &[BASE, ROTARY],
    computed: llama3_factors,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "llama3"],
    defaults: Some(Defaults {
        sizes: [32000, 4096, 11008, 32, 32, 2048],
        head: Head::Share,
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::LlamaLike,
    back: Some(Back { flags: ALL_BIASES, ..BACK }),
    ..DECODER
};

const RULES: &[Rule] = &[SILU, free(&["attention_bias", "mlp_bias"])];
