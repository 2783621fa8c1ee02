//! openPangu-Embedded.

use super::family::*;

pub(super) const PANGU_EMBEDDED: Family = Family {
    architecture: "pangu-embedded",
    classes: &["PanguEmbeddedForCausalLM"],
    types: &["PanguEmbedded"],
    also: &["panguembedded"],
    drops_head: DropsHead::Tied,
    keys: &[BASE, ROTARY, WIDTHS],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::PiecesAsStated,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    fails(
        &["bias"],
        |case, _| case.has(".attn_output.bias") || !case.has(".attn_output.weight"),
        "it needs attention biases in this family",
    ),
    NO_MLP_BIAS,
];

const WIDTHS: &[KeyRow] = &[
    ("attention.key_length", Count, Made(|settings| settings.head_width().map(Json::from))),
    ("attention.value_length", Count, Made(|settings| settings.head_width().map(Json::from))),
];
