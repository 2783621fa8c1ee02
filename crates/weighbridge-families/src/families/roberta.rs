//! RoBERTa: BERT with positions behind that of padding.

use super::bert::BERT;
use super::family::*;

pub(super) const ROBERTA: Family = Family {
    classes: &["RobertaModel", "RobertaForSequenceClassification"],
    types: &["roberta"],
    pads_positions: true,
    keys: &[BASE, BEHIND_PADDING, ENCODER],
    defaults: Some(Defaults {
        sizes: [50265, 768, 3072, 12, 12, 512],
        epsilon: ("layer_norm_eps", 1e-12),
        learns_positions: true,
        more: &[("pad_token_id", 1.0), ("type_vocab_size", 2.0)],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::Encoder(EncoderTokens::Pairs),
    back: None,
    ..BERT
};
