//! InternLM 3, which GGUF calls by the name of Llama.

use super::family::*;

pub(super) const INTERNLM3: Family = Family {
    architecture: "llama",
    shown: Some("internlm3"),
    classes: &["InternLM3ForCausalLM"],
    types: &["internlm3"],
    pairs: true,
    keys: &[BASE, ROTARY],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::PiecesUntilTurn,
    ..DECODER
};

const RULES: &[Rule] = &[SILU, free(&["bias", "qkv_bias"])];
