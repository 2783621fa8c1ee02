//! The language model of Qwen 3 ASR.

use super::family::*;
use super::qwen3_vl::{self, QWEN3_VL};

pub(super) const QWEN3_ASR: Family = Family {
    classes: &["Qwen3ASRForConditionalGeneration"],
    types: &["qwen3_asr"],
    keys: &[BASE, &[POOLING], NO_DEEPSTACK],
    rules: &[RULES, qwen3_vl::RULES, ROPE],
    tokenizer: Tokenizer::EndedBy("<|im_end|>", Some(CHAT)),
    ..QWEN3_VL
};

/// No layer takes features of its own.
pub(super) const NO_DEEPSTACK: &[KeyRow] =
    &[("n_deepstack_layers", Count, Made(|_| Some(0.into())))];

const RULES: &[Rule] = &[SEES_ALL, free(&["timestamp_token_id", "token_classification_bias"])];

/// The repository's own describes sounds.
const CHAT: &str = concat!(
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] ",
    "+ '<|im_end|>' + '\\n'}}{% endfor %}",
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
);
