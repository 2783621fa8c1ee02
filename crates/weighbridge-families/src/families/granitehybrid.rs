//! Granite 4, most of whose layers are state spaces.

use super::family::*;

pub(super) const GRANITE_HYBRID: Family = Family {
    architecture: "granitehybrid",
    classes: &["GraniteMoeHybridForCausalLM"],
    types: &["granitemoehybrid"],
    fits: |config| !is_all_attention(config),
    rows: &[TRUNK, ATTENTION, TWO_NORMS, MIXED_STATE_HEADS, GRANITE_EXPERTS, GRANITE_SHARED],
    pairs: true,
    ignored: &["head_dim"],
    keys: &[BASE, ROTARY, GRANITE_SCALES, SHARED_LENGTH, MIXED_KEYS, &[NO_ROPE, ENDLESS]],
    refuse: check_mixed,
    rules: &[RULES, MIXED_RULES, STATE_HEAD_RULES],
    scalings: &["linear", "yarn"],
    tokenizer: Tokenizer::PiecesOrPairs,
    mlx: false,
    ..DECODER
};

const NO_ROPE: KeyRow = ("rope.scaling.finetuned", Flag, Made(|_| Some(false.into())));
const ENDLESS: KeyRow = ("context_length", Count, Made(endless));

const RULES: &[Rule] = &[
    HEADS_SHARE,
    differs(
        &["position_embedding_type"],
        |_, kind| kind.is_null() || kind == "nope",
        "rotates no positions in models with state spaces",
    ),
    free(&["init_method", "rope_theta", "rope_scaling", "rope_scaling.rope_theta"]),
    free(&["rope_scaling.rope_type", "normalization_function"]),
];

/// Whether a model of the class has no state spaces: GGUF calls it a Granite of another kind.
pub(super) fn is_all_attention(config: &Json) -> bool {
    let kinds = config["layer_types"].as_array().or(config["layers_block_type"].as_array());
    let is_attention = |kind: &Json| kind == "attention" || kind == "full_attention";
    kinds.is_some_and(|kinds| kinds.iter().all(is_attention))
}
