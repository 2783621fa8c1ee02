//! Gemma.

use super::family::*;

pub(super) const GEMMA: Family = Family {
    architecture: "gemma",
    classes: &["GemmaForCausalLM"],
    types: &["gemma"],
    norm_add: 1.0,
    tied: true,
    drops_head: DropsHead::Always,
    keys: &[KEYS, UNUSUAL_ROPE],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [256000, 3072, 24576, 28, 16, 8192],
        key_heads: KeyHeads::Of(16),
        head: Head::Of(256),
        ..DEFAULTS
    }),
    // The id is that of the token that ends a turn.
    tokenizer: Tokenizer::Pieces(Some(107)),
    back: Some(Back {
        flags: ATTENTION_BIAS,
        untold: &[("use_bidirectional_attention", "null")],
        activation: ("hidden_act", "gelu_pytorch_tanh"),
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["hidden_act"], gelu, "uses gelu"),
    free(&["hidden_activation", "use_bidirectional_attention"]),
    NO_ATTENTION_BIAS,
    TIED,
];

pub(super) const KEYS: &[KeyRow] = &[
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

/// What llama.cpp divides Gemma's queries by, squared: the width of a head, and in the largest model,
/// which it knows by its layers, what the heads make of the hidden size.
pub(super) fn attention_scale(config: &Config, largest: u64) -> Option<Json> {
    let count = |key: &str| config.get(key).and_then(Json::as_u64);
    let scale = if count("num_hidden_layers") == Some(largest) {
        count("hidden_size")?.checked_div(count("num_attention_heads")?)
    } else {
        count("head_dim")
    };
    scale.map(Json::from)
}

/// An output head of its own, which the converter leaves out.
pub(super) const TIED: Rule =
    differs(&["tie_word_embeddings"], on, "uses the embedding as the output head");

pub(super) const SCALE: &str = "divides queries by the square root of the width of a head";

/// Whether a config states the scale that llama.cpp uses.
pub(super) fn is_scale(case: &Case<'_>, scale: &Json, largest: u64) -> bool {
    let settings = case.settings;
    let assumed =
        if case.layers() == largest { settings.head_share() } else { settings.count("head_dim") };
    // The class assumes 256.
    scale.as_f64().unwrap_or(256.0) == assumed.unwrap_or(256) as f64
}
