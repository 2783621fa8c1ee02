//! Gemma 3.

use super::family::*;
use super::gemma::{GEMMA, attention_scale};

pub(super) const GEMMA3: Family = Family {
    architecture: "gemma3",
    classes: &["Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"],
    types: &["gemma3_text", "gemma3"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, FOUR_NORMS],
    cuts_embedding: true,
    keys: &[BASE, KEYS],
    defaults: Some(Defaults {
        sizes: [262208, 2304, 9216, 26, 8, 131072],
        key_heads: KeyHeads::Of(4),
        head: Head::Of(256),
        theta: 1000000.0,
        local_theta: Some(10000.0),
        more: &[("sliding_window", 4096.0)],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::BarePiecesOrPairs,
    back: Some(Back {
        made: &[
            ("final_logit_softcapping", "final_logit_softcapping"),
            ("attention.sliding_window", "sliding_window"),
        ],
        flags: ATTENTION_BIAS,
        fixed: &[("query_pre_attn_scalar", |_, config| attention_scale(config, 62))],
        untold: &[
            ("query_pre_attn_scalar", ""),
            ("layer_types", "full_attention in every 6th layer, sliding_attention in the others"),
            ("attn_logit_softcapping", "null"),
            ("use_bidirectional_attention", "false"),
        ],
        activation: ("hidden_activation", "gelu_pytorch_tanh"),
        ..BACK
    }),
    ..GEMMA
};

const KEYS: &[KeyRow] = &[
    (
        "final_logit_softcapping",
        Number,
        Made(|settings| nonzero(settings, "final_logit_softcapping")),
    ),
    ("attention.sliding_window", Count, Made(window_unless_everywhere)),
];

/// The window, unless every layer sees everything.
fn window_unless_everywhere(settings: &Settings) -> Option<Json> {
    let everywhere = settings.count("sliding_window_pattern") == Some(1);
    settings.find(&["sliding_window"]).filter(|_| !everywhere).cloned()
}
