//! CodeShell: GPT-2's names, rotary positions, and groups of heads.

use super::family::*;
use super::gpt2::inner;

pub(super) const CODESHELL: Family = Family {
    architecture: "codeshell",
    classes: &["CodeShellForCausalLM"],
    types: &["kclgpt", "codeshell"],
    prefix: "transformer.",
    rows: &[ROWS],
    gguf: &[GGUF],
    keys: &[KEYS],
    rules: &[RULES, ROPE],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    NEEDS_HEAD,
    differs(&["activation_function"], gelu, "uses gelu"),
    differs(&["scale_attn_weights"], on, "divides queries by the root of the width of a head"),
    differs(
        &["position_embedding_type"],
        |_, kind| kind.is_null() || kind == "rope",
        "has rotary positions",
    ),
    differs(
        &["rope_theta"],
        |_, base| is_number(base, 10000.0),
        "takes 10000 for the base of rotary positions",
    ),
    free(&["attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "multi_query"]),
    free(&["group_query_attention", "summary_activation", "summary_proj_to_labels"]),
    free(&["summary_type", "summary_use_proj"]),
];

const ROWS: &[Row] = &[
    ("wte", &["token_embd"], Embedding),
    ("ln_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("h.#.ln_1", &["blk.#.attn_norm"], Norm),
    ("h.#.attn.c_attn", &["blk.#.attn_qkv"], Plain),
    ("h.#.attn.c_proj", &["blk.#.attn_output"], Plain),
    ("h.#.ln_2", &["blk.#.ffn_norm"], Norm),
    ("h.#.mlp.c_fc", &["blk.#.ffn_up"], Plain),
    ("h.#.mlp.c_proj", &["blk.#.ffn_down"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Needed(&["n_positions"])),
    ("embedding_length", Count, Needed(&["n_embd"])),
    ("feed_forward_length", Count, Made(inner)),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.head_count", Count, Needed(&["n_head"])),
    ("attention.head_count_kv", Count, Needed(&["num_query_groups"])),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_epsilon"])),
    FILE_TYPE,
    ("rope.freq_base", Number, Made(|_| Some(10000.0.into()))),
    ("rope.scaling.type", Text, Made(|_| Some("linear".into()))),
    ("rope.scaling.factor", Number, Made(|_| Some(1.0.into()))),
];
