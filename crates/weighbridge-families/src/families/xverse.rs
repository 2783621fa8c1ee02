//! XVERSE: Llama, with a tokenizer whose pieces have no scores.

use super::family::*;

pub(super) const XVERSE: Family = Family {
    architecture: "xverse",
    classes: &["XverseForCausalLM"],
    types: &["xverse"],
    pairs: true,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::BarePieces,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[SILU, NEEDS_HEAD, HEADS_SHARE, free(&["max_tokenizer_truncation"])];

const KEYS: &[KeyRow] = &[
    ("tensor_data_layout", Text, Made(|_| Some("Meta AI original pth".into()))),
    ("rope.dimension_count", Count, Made(|settings| settings.head_share().map(Json::from))),
];
