//! Granite 4 without state spaces and experts. GGUF calls it Granite, with what it says of state spaces.

use super::family::*;
use super::granitehybrid::is_all_attention;

pub(super) const GRANITE_ATTENTION: Family = Family {
    architecture: "granite",
    classes: &["GraniteMoeHybridForCausalLM"],
    types: &["granitemoehybrid"],
    fits: |config| is_all_attention(config) && !chooses_experts(config),
    rows: &[TRUNK, ATTENTION, TWO_NORMS, GRANITE_SHARED],
    pairs: true,
    ignored: &["head_dim"],
    keys: &[BASE, ROTARY, GRANITE_SCALES, SHARED_LENGTH, MIXED_KEYS, &[WITH_ROPE]],
    refuse: check_mixed,
    rules: &[ALL_ATTENTION, MIXED_RULES, STATE_HEAD_RULES, ROPE],
    scalings: &["linear", "yarn"],
    tokenizer: Tokenizer::PiecesOrPairs,
    mlx: false,
    ..DECODER
};

/// Whether a config says how many experts see a token.
pub(super) fn chooses_experts(config: &Json) -> bool {
    ["num_experts_per_tok", "num_experts_per_token"]
        .iter()
        .find_map(|key| config.get(key))
        .and_then(Json::as_u64)
        .is_some_and(|count| count > 0)
}

pub(super) const ALL_ATTENTION: &[Rule] = &[
    HEADS_SHARE,
    differs(
        &["position_embedding_type"],
        |_, kind| kind == "rope",
        "rotates positions in models without state spaces",
    ),
    free(&["init_method", "normalization_function"]),
];
