//! BERT.

use super::family::*;

pub(super) const BERT: Family = Family {
    architecture: "bert",
    classes: &["BertModel", "BertForMaskedLM", "BertForSequenceClassification"],
    types: &["bert"],
    rows: &[ROWS],
    left_out: &[
        ("pooler.", "pooling layer, not converted"),
        ("cls.predictions.", "masked-word head, not converted"),
        ("cls.seq_relationship.", "next-sentence head, not converted"),
    ],
    keys: &[BASE, ENCODER],
    rules: &[RULES],
    scalings: &[],
    defaults: Some(Defaults {
        sizes: [30522, 768, 3072, 12, 12, 512],
        epsilon: ("layer_norm_eps", 1e-12),
        learns_positions: true,
        more: &[("type_vocab_size", 2.0)],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::Encoder(EncoderTokens::WordPieces),
    mlx: false,
    ..DECODER
};

pub(super) const RULES: &[Rule] = &[
    differs(&["hidden_act"], gelu, "uses gelu"),
    differs(&["is_decoder"], off, "looks ahead, too"),
    free(&["type_vocab_size", "position_embedding_type", "gradient_checkpointing", "model_args"]),
];

/// Heads for classes stand outside of the model.
const ROWS: &[Row] = &[
    ("embeddings.word_embeddings", &["token_embd"], Embedding),
    ("embeddings.position_embeddings", &["position_embd"], Positions),
    ("embeddings.token_type_embeddings", &["token_types"], Plain),
    ("embeddings.LayerNorm", &["token_embd_norm"], Norm),
    ("encoder.layer.#.attention.self.query", &["blk.#.attn_q"], Query),
    ("encoder.layer.#.attention.self.key", &["blk.#.attn_k"], Key),
    ("encoder.layer.#.attention.self.value", &["blk.#.attn_v"], Plain),
    ("encoder.layer.#.attention.output.dense", &["blk.#.attn_output"], Plain),
    ("encoder.layer.#.attention.output.LayerNorm", &["blk.#.attn_output_norm"], Norm),
    ("encoder.layer.#.intermediate.dense", &["blk.#.ffn_up"], Plain),
    ("encoder.layer.#.output.dense", &["blk.#.ffn_down"], Plain),
    ("encoder.layer.#.output.LayerNorm", &["blk.#.layer_output_norm"], Norm),
    // A classifier of one layer.
    ("classifier", &["cls.output"], Plain),
    ("classifier.dense", &["cls"], Plain),
    ("classifier.out_proj", &["cls.output"], Plain),
];
