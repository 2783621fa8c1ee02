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

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Any(&["model_max_length", "max_position_embeddings"])),
    LOGIT_SCALE,
    NO_SCALING,
];
