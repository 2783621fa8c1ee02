//! Command R. Hugging Face has its heads in pairs, as GGUF does.

use super::family::*;

pub(super) const COHERE: Family = Family {
    architecture: "command-r",
    shown: Some("cohere"),
    classes: &["CohereForCausalLM"],
    types: &["cohere"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, ONE_NORM],
    tied: true,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [256000, 8192, 22528, 40, 64, 8192],
        epsilon: ("layer_norm_eps", 1e-5),
        theta: 500000.0,
        more: &[("logit_scale", 0.0625)],
        ..DEFAULTS
    }),
    back: Some(Back {
        flags: &[
            ("attention_bias", &[Q, K, V, O]),
            ("use_qk_norm", &["blk.#.attn_q_norm.weight", "blk.#.attn_k_norm.weight"]),
        ],
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    HEADS_SHARE,
    NO_HEAD,
    fails(
        &["use_qk_norm"],
        |case, _| case.has(".attn_q_norm.weight") == (case.layers() >= 64),
        "models of 64 layers and more have norms of queries and keys, and no others",
    ),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Any(&["model_max_length", "max_position_embeddings"])),
    LOGIT_SCALE,
    SCALING_OR_NONE,
];
