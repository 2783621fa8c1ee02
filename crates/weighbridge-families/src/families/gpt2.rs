//! GPT-2. Its matrices lie the other way round, and its positions are learned.

use super::family::*;

pub(super) const GPT2: Family = Family {
    architecture: "gpt2",
    classes: &["GPT2LMHeadModel"],
    types: &["gpt2"],
    prefix: "transformer.",
    rows: &[ROWS],
    gguf: &[GGUF],
    tied: true,
    left_out: &[
        ("h.#.attn.bias", "attention mask, the same in all models"),
        ("h.#.attn.masked_bias", "attention mask constant"),
    ],
    keys: &[KEYS],
    rules: &[RULES],
    scalings: &[],
    defaults: Some(Defaults {
        names: ["vocab_size", "n_embd", "n_inner", "n_layer", "n_head", "n_positions"],
        sizes: [50257, 768, 0, 12, 12, 1024],
        epsilon: ("layer_norm_epsilon", 1e-5),
        learns_positions: true,
        ..DEFAULTS
    }),
    back: Some(Back {
        flags: &[
            ("", &["blk.#.attn_qkv.bias", O, UP, DOWN]),
            ("", &["blk.#.attn_norm.bias", "blk.#.ffn_norm.bias", "output_norm.bias"]),
        ],
        fixed: &[("n_inner", other_inner)],
        untold: &[
            ("scale_attn_weights", "true"),
            ("scale_attn_by_inverse_layer_idx", "false"),
            ("reorder_and_upcast_attn", "false"),
            ("add_cross_attention", "false"),
        ],
        activation: ("activation_function", "gelu_new"),
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["activation_function"], gelu, "uses gelu"),
    differs(&["scale_attn_weights"], on, "divides queries by the root of the width of a head"),
    differs(&["scale_attn_by_inverse_layer_idx"], off, "scales all layers alike"),
    free(&[
        "reorder_and_upcast_attn",
        "summary_activation",
        "summary_proj_to_labels",
        "summary_type",
        "summary_use_proj",
    ]),
];

const ROWS: &[Row] = &[
    ("wte", &["token_embd"], Embedding),
    ("wpe", &["position_embd"], Positions),
    ("h.#.ln_1", &["blk.#.attn_norm"], Norm),
    ("h.#.attn.c_attn", &["blk.#.attn_qkv"], Transposed),
    ("h.#.attn.c_proj", &["blk.#.attn_output"], Transposed),
    ("h.#.ln_2", &["blk.#.ffn_norm"], Norm),
    ("h.#.mlp.c_fc", &["blk.#.ffn_up"], Transposed),
    ("h.#.mlp.c_proj", &["blk.#.ffn_down"], Transposed),
    ("ln_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Needed(LAYERS)),
    ("context_length", Count, Needed(&["n_positions", "n_ctx"])),
    ("embedding_length", Count, Needed(&["n_embd"])),
    ("feed_forward_length", Count, Made(inner)),
    ("attention.head_count", Count, Needed(&["n_head"])),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_epsilon"])),
    FILE_TYPE,
];

/// The inner size. The converter takes four times the width, whatever the config says, and such a file
/// does not load.
pub(super) fn inner(settings: &Settings) -> Option<Json> {
    let stated = settings.count("n_inner").filter(|inner| *inner > 0);
    stated.or_else(|| settings.count("n_embd")?.checked_mul(4)).map(Json::from)
}

/// The inner size that a file states, if it is another one.
pub(super) fn other_inner(told: &Told<'_>, config: &Config) -> Option<Json> {
    let inner = told.own("feed_forward_length")?.as_u64()?;
    let usual = config.get("n_embd").and_then(Json::as_u64)?.checked_mul(4)?;
    (inner != usual).then(|| inner.into())
}
