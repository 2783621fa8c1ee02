//! Orion: Llama with norms that have a mean.

use super::family::*;

pub(super) const ORION: Family = Family {
    architecture: "orion",
    classes: &["OrionForCausalLM"],
    types: &["orion"],
    keys: &[KEYS, UNUSUAL_ROPE],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::PiecesWith(&[]),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NEEDS_HEAD,
    fails(
        &["attention_bias"],
        |case, _| !case.has(".attn_output.bias"),
        "it has no bias behind attention in this family",
    ),
    NO_MLP_BIAS,
];

const HEADS: &[&str] = &["num_attention_heads"];

const KEYS: &[KeyRow] = &[
    FILE_TYPE,
    ("tensor_data_layout", Text, Made(|_| Some("Meta AI original pth".into()))),
    (
        "context_length",
        Count,
        Needed(&["max_sequence_length", "max_position_embeddings", "model_max_length"]),
    ),
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("attention.head_count", Count, Needed(HEADS)),
    ("attention.head_count_kv", Count, Needed(&["num_key_value_heads", "num_attention_heads"])),
    // What configs call by the name of other norms.
    ("attention.layer_norm_epsilon", Number, Needed(&["rms_norm_eps"])),
];
