//! XLM-RoBERTa: RoBERTa with another tokenizer.

use super::family::*;
use super::roberta::ROBERTA;

pub(super) const XLM_ROBERTA: Family = Family {
    classes: &["XLMRobertaModel", "XLMRobertaForSequenceClassification"],
    types: &["xlm-roberta"],
    defaults: Some(Defaults {
        sizes: [30522, 768, 3072, 12, 12, 512],
        epsilon: ("layer_norm_eps", 1e-12),
        learns_positions: true,
        more: &[("pad_token_id", 1.0), ("type_vocab_size", 2.0)],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::Encoder(EncoderTokens::Unigram),
    ..ROBERTA
};
