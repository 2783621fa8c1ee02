//! Jina's second BERT, with slopes in place of positions and a gate. Its configs are BERT's.

use super::bert::BERT;
use super::family::*;

pub(super) const JINA_BERT_V2: Family = Family {
    architecture: "jina-bert-v2",
    classes: &["JinaBertModel", "JinaBertForMaskedLM"],
    types: &["bert"],
    rows: &[ROWS],
    rules: &[RULES],
    tokenizer: Tokenizer::Encoder(EncoderTokens::WordPiecesOrPairs),
    back: None,
    ..BERT
};

const ROWS: &[Row] = &[
    ("embeddings.word_embeddings", &["token_embd"], Embedding),
    ("embeddings.token_type_embeddings", &["token_types"], Plain),
    ("embeddings.LayerNorm", &["token_embd_norm"], Norm),
    ("encoder.layer.#.attention.self.query", &["blk.#.attn_q"], Query),
    ("encoder.layer.#.attention.self.key", &["blk.#.attn_k"], Key),
    ("encoder.layer.#.attention.self.value", &["blk.#.attn_v"], Plain),
    ("encoder.layer.#.attention.self.layer_norm_q", &["blk.#.attn_q_norm"], Norm),
    ("encoder.layer.#.attention.self.layer_norm_k", &["blk.#.attn_k_norm"], Norm),
    ("encoder.layer.#.attention.output.dense", &["blk.#.attn_output"], Plain),
    ("encoder.layer.#.attention.output.LayerNorm", &["blk.#.attn_output_norm"], Norm),
    ("encoder.layer.#.layer_norm_1", &["blk.#.attn_norm_2"], Norm),
    ("encoder.layer.#.mlp.layernorm", &["blk.#.layer_output_norm"], Norm),
    ("encoder.layer.#.layer_norm_2", &["blk.#.layer_output_norm"], Norm),
    // Up and gate in one matrix, under the names of either model.
    ("encoder.layer.#.mlp.gated_layers", &["blk.#.ffn_up"], Plain),
    ("encoder.layer.#.mlp.up_gated_layer", &["blk.#.ffn_up"], Plain),
    ("encoder.layer.#.mlp.wo", &["blk.#.ffn_down"], Plain),
    ("encoder.layer.#.mlp.down_layer", &["blk.#.ffn_down"], Plain),
];

const RULES: &[Rule] = &[
    differs(
        &["feed_forward_type"],
        |_, kind| kind.is_null() || kind == "geglu",
        "uses gelu with a gate",
    ),
    differs(&["hidden_act"], gelu, "uses gelu"),
    differs(
        &["position_embedding_type"],
        |_, kind| kind == "alibi",
        "uses slopes in place of positions",
    ),
    free(&["type_vocab_size", "use_qk_norm", "model_args", "emb_pooler"]),
];
