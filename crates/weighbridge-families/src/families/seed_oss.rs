//! Seed-OSS.

use super::family::*;

pub(super) const SEED_OSS: Family = Family {
    architecture: "seed_oss",
    classes: &["SeedOssForCausalLM"],
    types: &["seed_oss"],
    rows: &[TRUNK, ATTENTION, MLP, NORMS_BETWEEN],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [155136, 4096, 27648, 64, 80, 524288],
        key_heads: KeyHeads::Of(8),
        head: Head::OfOrShare(128),
        flags: &[("attention_bias", true)],
        ..DEFAULTS
    }),
    back: Some(Back {
        flags: &[
            ("attention_bias", &[Q, K, V]),
            ("attention_out_bias", &[O]),
            ("mlp_bias", &[GATE, UP, DOWN]),
        ],
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    free(&["attention_bias"]),
    fails(
        &["attention_out_bias"],
        |case, _| !case.has(".attn_output.bias"),
        "it has no bias behind attention in this family",
    ),
    NO_MLP_BIAS,
];
