//! InternLM 2: Llama with the names of Meta's checkpoints, and queries, keys and values in one weight,
//! group by group.

use super::family::*;

pub(super) const INTERNLM2: Family = Family {
    architecture: "internlm2",
    classes: &["InternLM2ForCausalLM"],
    types: &["internlm2"],
    rows: &[ROWS],
    gguf: &[GGUF, GGUF_GROUPED],
    pairs: true,
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::PiecesAndTurns,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NEEDS_HEAD,
    fails(
        &["bias"],
        |case, _| !case.has(".attn_output.bias"),
        "it has no bias behind attention in this family",
    ),
];

const ROWS: &[Row] = &[
    ("tok_embeddings", &["token_embd"], Embedding),
    ("norm", &["output_norm"], Norm),
    ("/output", &["output"], Embedding),
    ("layers.#.attention.wqkv", QKV, Grouped),
    ("layers.#.attention.wo", &["blk.#.attn_output"], Plain),
    ("layers.#.attention_norm", &["blk.#.attn_norm"], Norm),
    ("layers.#.ffn_norm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.feed_forward.w1", &["blk.#.ffn_gate"], Plain),
    ("layers.#.feed_forward.w3", &["blk.#.ffn_up"], Plain),
    ("layers.#.feed_forward.w2", &["blk.#.ffn_down"], Plain),
];

/// Query and key rows come from the groups one by one, since their order changes.
const GGUF_GROUPED: &[Row] =
    &[("blk.#.attn_q", &["blk.#.attn_q"], Grouped), ("blk.#.attn_k", &["blk.#.attn_k"], Grouped)];
