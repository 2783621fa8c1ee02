//! Gemma 2.

use super::family::*;
use super::gemma::{self, GEMMA, SCALE, TIED, attention_scale, is_scale};

pub(super) const GEMMA2: Family = Family {
    architecture: "gemma2",
    classes: &["Gemma2ForCausalLM"],
    types: &["gemma2"],
    rows: &[TRUNK, ATTENTION, MLP, FOUR_NORMS],
    keys: &[gemma::KEYS, KEYS, UNUSUAL_ROPE],
    rules: &[RULES, ROPE],
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
        made: &[
            ("attention.sliding_window", "sliding_window"),
            ("attn_logit_softcapping", "attn_logit_softcapping"),
            ("final_logit_softcapping", "final_logit_softcapping"),
        ],
        flags: ATTENTION_BIAS,
        fixed: &[
            ("layer_types", layers_with_windows),
            ("query_pre_attn_scalar", |_, config| attention_scale(config, 46)),
        ],
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

const RULES: &[Rule] = &[
    differs(&["hidden_activation"], gelu, "uses gelu"),
    // Where no layer has a window, the context is written.
    free(&["sliding_window"]),
    free(&["hidden_act", "use_bidirectional_attention"]),
    NO_ATTENTION_BIAS,
    TIED,
    differs(&["query_pre_attn_scalar"], |case, scale| is_scale(case, scale, 46), SCALE),
];

const KEYS: &[KeyRow] = &[
    ("attn_logit_softcapping", Number, Made(|settings| cap(settings, "attn_logit_softcapping"))),
    ("final_logit_softcapping", Number, Made(|settings| cap(settings, "final_logit_softcapping"))),
    ("attention.sliding_window", Count, Made(window_or_context)),
    ("attention.sliding_window_pattern", FlagList, Made(unusual_windows::<2>)),
];

/// A cap, or one that nothing reaches: without an entry llama.cpp takes the usual one.
fn cap(settings: &Settings, key: &str) -> Option<Json> {
    Some(settings.find(&[key]).cloned().unwrap_or_else(|| 1e6.into()))
}
