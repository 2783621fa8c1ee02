//! StarCoder and SantaCoder: GPT-2 with one key head, and matrices the usual way round.

use super::family::*;
use super::gpt2::{inner, other_inner};

pub(super) const STARCODER: Family = Family {
    architecture: "starcoder",
    classes: &["GPTBigCodeForCausalLM"],
    types: &["gpt_bigcode"],
    prefix: "transformer.",
    rows: &[ROWS],
    gguf: &[GGUF],
    tied: true,
    left_out: &[
        ("h.#.attn.bias", "attention mask, the same in all models"),
        ("h.#.attn.masked_bias", "attention mask constant"),
    ],
    keys: &[KEYS],
    refuse: check,
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
        fixed: &[("n_inner", other_inner), ("multi_query", |_, _| Some(true.into()))],
        untold: &[
            ("scale_attn_weights", "true"),
            ("attention_softmax_in_fp32", "true"),
            ("scale_attention_softmax_in_fp32", "true"),
            ("add_cross_attention", "false"),
        ],
        activation: ("activation_function", "gelu_pytorch_tanh"),
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["activation_function"], gelu, "uses gelu"),
    differs(&["scale_attn_weights"], on, "divides queries by the root of the width of a head"),
    // How and where the same is computed, and what the weights tell.
    free(&["attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "multi_query"]),
    free(&["attention_head_type", "inference_runner", "max_batch_size", "pad_key_length"]),
    free(&["num_key_value_heads"]),
    free(&["pre_allocate_kv_cache", "validate_runner_input", "summary_activation"]),
    free(&["summary_proj_to_labels", "summary_type", "summary_use_proj"]),
];

const ROWS: &[Row] = &[
    ("wte", &["token_embd"], Embedding),
    ("wpe", &["position_embd"], Positions),
    ("h.#.ln_1", &["blk.#.attn_norm"], Norm),
    ("h.#.attn.c_attn", &["blk.#.attn_qkv"], Plain),
    ("h.#.attn.c_proj", &["blk.#.attn_output"], Plain),
    ("h.#.ln_2", &["blk.#.ffn_norm"], Norm),
    ("h.#.mlp.c_fc", &["blk.#.ffn_up"], Plain),
    ("h.#.mlp.c_proj", &["blk.#.ffn_down"], Plain),
    ("ln_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Needed(&["n_positions"])),
    ("embedding_length", Count, Needed(&["n_embd"])),
    ("feed_forward_length", Count, Made(inner)),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.head_count", Count, Needed(&["n_head"])),
    ("attention.head_count_kv", Count, Made(|_| Some(1.into()))),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_epsilon"])),
    FILE_TYPE,
];

/// Refuses a key head for each query head: they lie head by head, and the file would say one.
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    if settings.find(&["multi_query"]).is_some_and(|shared| *shared == false) {
        return Err(not_yet("GPTBigCode models without `multi_query`"));
    }
    Ok(())
}
