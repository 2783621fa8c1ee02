//! BERT.

use super::family::*;
use crate::error::Remedy;

pub(super) const BERT: Family = Family {
    architecture: "bert",
    classes: &["BertModel", "BertForMaskedLM", "BertForSequenceClassification"],
    types: &["bert"],
    prefix: "",
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
        key_heads: KeyHeads::Unsaid,
        learns_positions: true,
        more: &[("type_vocab_size", 2.0)],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::Encoder(EncoderTokens::WordPieces),
    back: Some(Back {
        is: |told| told.has("token_types.weight"),
        refuse: check_file,
        flags: BACK_FLAGS,
        fixed: &[("type_vocab_size", |told, _| Some(told.rows_of("token_types.weight").into()))],
        untold: &[
            ("is_decoder", "false"),
            ("is_encoder_decoder", "false"),
            ("add_cross_attention", "false"),
            ("pooler", "random numbers"),
        ],
        activation: ("hidden_act", "gelu"),
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

pub(super) const RULES: &[Rule] = &[
    differs(&["hidden_act"], gelu, "uses gelu"),
    differs(&["is_decoder"], off, "looks ahead, too"),
    free(&["type_vocab_size", "position_embedding_type", "gradient_checkpointing", "model_args"]),
];

/// Everything has biases.
pub(super) const BACK_FLAGS: Flags = &[
    ("", &["token_embd_norm.bias", Q, K, V, O, UP, DOWN]),
    ("", &["blk.#.attn_output_norm.bias", "blk.#.layer_output_norm.bias"]),
];

/// Refuses classifiers, whose pooling layer is in no file, and RoBERTa's kin.
fn check_file(told: &Told<'_>) -> Result<()> {
    refuse_classifier(told)?;
    if told.text("tokenizer.ggml.model") == "bert" {
        return Ok(());
    }
    let message = "the file is of RoBERTa or a relative, without their positions of padding";
    Err(Error::unsupported(message).remedy(Remedy::KeepNames))
}

/// Refuses classifiers.
pub(super) fn refuse_classifier(told: &Told<'_>) -> Result<()> {
    if !told.has("cls.output.weight") {
        return Ok(());
    }
    let message = "classifiers do not become repositories yet";
    Err(Error::unsupported(message).in_tensor("cls.output.weight").remedy(Remedy::KeepNames))
}

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
