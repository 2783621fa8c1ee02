//! Gemma 2.

use super::family::*;
use super::gemma::{self, GEMMA, attention_scale};

pub(super) const GEMMA2: Family = Family {
    architecture: "gemma2",
    classes: &["Gemma2ForCausalLM"],
    types: &["gemma2"],
    rows: &[TRUNK, ATTENTION, MLP, FOUR_NORMS],
    keys: &[gemma::KEYS, KEYS],
    defaults: Some(Defaults {
        sizes: [256000, 2304, 9216, 26, 8, 8192],
        key_heads: KeyHeads::Of(4),
        head: Head::Of(256),
        more: &[
            ("sliding_window", 4096.0),
            ("final_logit_softcapping", 30.0),
            ("attn_logit_softcapping", 50.0),
        ],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::Pieces(None),
    back: Some(Back {
        flags: ATTENTION_BIAS,
        fixed: &[("query_pre_attn_scalar", |_, config| attention_scale(config, 46))],
        untold: &[
            ("query_pre_attn_scalar", ""),
            ("layer_types", "full_attention in every 2nd layer, sliding_attention in the others"),
            ("use_bidirectional_attention", "null"),
        ],
        activation: ("hidden_activation", "gelu_pytorch_tanh"),
        ..BACK
    }),
    ..GEMMA
};

const KEYS: &[KeyRow] = &[
    ("attn_logit_softcapping", Number, Needed(&["attn_logit_softcapping"])),
    ("final_logit_softcapping", Number, Needed(&["final_logit_softcapping"])),
    WINDOW,
];
