//! Refact: GPT-2's names, one key head, gates, and slopes of attention for positions.

use super::family::*;

pub(super) const REFACT: Family = Family {
    architecture: "refact",
    classes: &["GPTRefactForCausalLM"],
    types: &["gpt_refact"],
    prefix: "transformer.",
    rows: &[ROWS],
    keys: &[KEYS],
    refuse: check,
    rules: &[RULES],
    scalings: &[],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(
        &["activation_function"],
        |_, name| name.is_null() || name == "silu" || name == "swish",
        "uses silu",
    ),
    free(&["attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "multi_query"]),
    free(&["attention_bias_in_fp32", "do_sample", "n_inner", "scale_attn_weights"]),
    free(&["attention_head_type", "inference_runner", "max_batch_size", "pad_key_length"]),
    free(&["pre_allocate_kv_cache", "validate_runner_input", "summary_activation"]),
    free(&["summary_proj_to_labels", "summary_type", "summary_use_proj"]),
];

const ROWS: &[Row] = &[
    ("wte", &["token_embd"], Embedding),
    ("ln_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("h.#.ln_1", &["blk.#.attn_norm"], Norm),
    ("h.#.attn.q", &["blk.#.attn_q"], Plain),
    ("h.#.attn.kv", &["blk.#.attn_k", "blk.#.attn_v"], Plain),
    ("h.#.attn.k", &["blk.#.attn_k"], Plain),
    ("h.#.attn.v", &["blk.#.attn_v"], Plain),
    ("h.#.attn.c_proj", &["blk.#.attn_output"], Plain),
    ("h.#.ln_2", &["blk.#.ffn_norm"], Norm),
    ("h.#.mlp.gate_up_proj", &["blk.#.ffn_gate", "blk.#.ffn_up"], Plain),
    ("h.#.mlp.linear_1", &["blk.#.ffn_gate"], Plain),
    ("h.#.mlp.linear_3", &["blk.#.ffn_up"], Plain),
    ("h.#.mlp.c_proj", &["blk.#.ffn_down"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Needed(&["n_positions"])),
    ("embedding_length", Count, Needed(&["n_embd"])),
    ("feed_forward_length", Count, Made(inner)),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.head_count", Count, Needed(&["n_head"])),
    ("attention.head_count_kv", Count, Made(|_| Some(1.into()))),
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["layer_norm_epsilon"])),
    FILE_TYPE,
];

/// Two thirds of four times the width, rounded up to whole blocks.
fn inner(settings: &Settings) -> Option<Json> {
    const BLOCK: u64 = 256;
    let inner = settings.count("n_embd")?.checked_mul(8)? / 3;
    inner.div_ceil(BLOCK).checked_mul(BLOCK).map(Json::from)
}

fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    if settings.find(&["multi_query"]).is_some_and(|shared| *shared == false) {
        return Err(not_yet("Refact models without `multi_query`"));
    }
    Ok(())
}
