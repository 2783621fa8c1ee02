//! Maincoder.

use super::family::*;

pub(super) const MAINCODER: Family = Family {
    architecture: "maincoder",
    classes: &["MaincoderForCausalLM"],
    types: &["maincoder"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    fails(
        &["use_qk_norm"],
        |case, _| case.has(".attn_q_norm.weight") || !case.has(".attn_q.weight"),
        "it needs norms of queries and keys in this family",
    ),
    NO_ATTENTION_BIAS,
    NO_MLP_BIAS,
];

const KEYS: &[KeyRow] = &[("rope.dimension_count", Count, Any(&["head_dim"]))];
