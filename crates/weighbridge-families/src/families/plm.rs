//! PLM: DeepSeek's attention, no gates, and an output head that is the embedding.

use super::family::*;
use super::minicpm3::LATENT_TOGETHER;

pub(super) const PLM: Family = Family {
    architecture: "plm",
    classes: &["PLMForCausalLM"],
    types: &["plm"],
    rows: &[TRUNK, LATENT_TOGETHER, MLP, TWO_NORMS],
    gguf: &[],
    tied: true,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["hidden_act"], |_, act| act == "relu2", "uses relu2"),
    NO_HEAD,
    fails(&["attention_bias"], off, "it has no attention biases in this family"),
    fails(&["mlp_bias"], off, "it has no feed-forward biases in this family"),
    fails(&["q_lora_rank"], off, "it makes queries directly"),
    differs(&["use_sliding_window"], off, "lets every layer see the whole text"),
    free(&["sliding_window", "max_window_layers", "head_dim", "qk_head_dim"]),
];

const KEYS: &[KeyRow] = &[
    VOCABULARY,
    ("attention.kv_lora_rank", Count, Needed(&["kv_lora_rank"])),
    ("attention.key_length", Count, MadeOf("qk_nope_head_dim", made_key_length)),
    ("attention.value_length", Count, Needed(&["v_head_dim"])),
    ("rope.dimension_count", Count, Needed(&["qk_rope_head_dim"])),
];
