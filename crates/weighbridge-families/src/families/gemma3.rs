//! Gemma 3.

use super::family::*;
use super::gemma::{GEMMA, SCALE, attention_scale, is_scale};

pub(super) const GEMMA3: Family = Family {
    architecture: "gemma3",
    classes: &["Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"],
    types: &["gemma3_text", "gemma3"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, FOUR_NORMS],
    cuts_embedding: true,
    drops_head: DropsHead::Never,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    refuse: refuse_capped_logits,
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
        fixed: &[
            ("layer_types", layers_with_windows),
            ("query_pre_attn_scalar", |_, config| attention_scale(config, 62)),
        ],
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

const RULES: &[Rule] = &[
    differs(&["hidden_activation"], gelu, "uses gelu"),
    free(&["hidden_act", "attn_logit_softcapping"]),
    differs(&["use_bidirectional_attention"], off, "looks back only"),
    NO_ATTENTION_BIAS,
    differs(&["query_pre_attn_scalar"], |case, scale| is_scale(case, scale, 62), SCALE),
    UNSCALED_WINDOWS,
];

pub(super) const KEYS: &[KeyRow] = &[
    (
        "final_logit_softcapping",
        Number,
        Made(|settings| nonzero(settings, "final_logit_softcapping")),
    ),
    ("attention.sliding_window", Count, Made(window_unless_everywhere)),
    ("attention.sliding_window_pattern", FlagList, Made(unusual_windows::<6>)),
];

/// llama.cpp caps logits where the file says so. Of transformers' classes, the one with vision does not,
/// whatever its config says. A cap of attention's scores is ignored by both.
fn refuse_capped_logits(settings: &Settings, about: &About<'_>) -> Result<()> {
    let class = about.config["architectures"][0].as_str().unwrap_or_default();
    let cap = nonzero(settings, "final_logit_softcapping");
    let Some(cap) = cap.filter(|_| class == "Gemma3ForConditionalGeneration") else {
        return Ok(());
    };
    Err(Error::unsupported(format!(
        "config.json: `final_logit_softcapping` is {cap}, which llama.cpp applies and {class} does not"
    ))
    .hint("set it to null if the logits are not to be capped"))
}

/// The window, unless every layer sees everything.
fn window_unless_everywhere(settings: &Settings) -> Option<Json> {
    settings.find(&["sliding_window"]).filter(|_| !sees_everything(settings)).cloned()
}
