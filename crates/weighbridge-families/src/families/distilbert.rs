//! DistilBERT: BERT with fewer layers, other names and without kinds of tokens.

use super::bert::{BACK_FLAGS, BERT, refuse_classifier};
use super::family::*;

pub(super) const DISTILBERT: Family = Family {
    shown: Some("distilbert"),
    classes: &["DistilBertModel", "DistilBertForMaskedLM", "DistilBertForSequenceClassification"],
    types: &["distilbert"],
    rows: &[ROWS],
    left_out: &[("vocab_", "masked-word head, not converted")],
    keys: &[EPSILON, BASE, ENCODER],
    rules: &[RULES],
    defaults: Some(Defaults {
        names: [
            "vocab_size",
            "dim",
            "hidden_dim",
            "n_layers",
            "n_heads",
            "max_position_embeddings",
        ],
        sizes: [30522, 768, 3072, 6, 12, 512],
        key_heads: KeyHeads::Unsaid,
        epsilon: ("", 0.0),
        learns_positions: true,
        more: &[("pad_token_id", 0.0)],
        ..DEFAULTS
    }),
    back: Some(Back {
        is: |told| !told.has("token_types.weight") && told.text("tokenizer.ggml.model") == "bert",
        refuse: refuse_classifier,
        flags: BACK_FLAGS,
        untold: &[("sinusoidal_pos_embds", "false")],
        activation: ("activation", "gelu"),
        ..BACK
    }),
    ..BERT
};

/// It goes without saying in configs.
const EPSILON: &[KeyRow] =
    &[("attention.layer_norm_epsilon", Number, Made(|_| Some(1e-12.into())))];

const RULES: &[Rule] = &[
    differs(&["activation"], gelu, "uses gelu"),
    // Computed or learned, positions are stored.
    free(&["sinusoidal_pos_embds", "dropout", "qa_dropout", "seq_classif_dropout"]),
    free(&["tie_weights_", "output_past", "type_vocab_size", "model_args"]),
];

const ROWS: &[Row] = &[
    ("embeddings.word_embeddings", &["token_embd"], Embedding),
    ("embeddings.position_embeddings", &["position_embd"], Positions),
    ("embeddings.LayerNorm", &["token_embd_norm"], Norm),
    ("transformer.layer.#.attention.q_lin", &["blk.#.attn_q"], Query),
    ("transformer.layer.#.attention.k_lin", &["blk.#.attn_k"], Key),
    ("transformer.layer.#.attention.v_lin", &["blk.#.attn_v"], Plain),
    ("transformer.layer.#.attention.out_lin", &["blk.#.attn_output"], Plain),
    ("transformer.layer.#.sa_layer_norm", &["blk.#.attn_output_norm"], Norm),
    ("transformer.layer.#.ffn.lin1", &["blk.#.ffn_up"], Plain),
    ("transformer.layer.#.ffn.lin2", &["blk.#.ffn_down"], Plain),
    ("transformer.layer.#.output_layer_norm", &["blk.#.layer_output_norm"], Norm),
    ("/pre_classifier", &["cls"], Plain),
    ("classifier", &["cls.output"], Plain),
];
