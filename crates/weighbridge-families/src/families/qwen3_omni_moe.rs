//! The language model of Qwen 3 Omni.

use super::family::*;
use super::qwen2_vl::SPEECH;
use super::qwen3_asr::NO_DEEPSTACK;
use super::qwen3_vl_moe::{QWEN3_VL_MOE, ROWS};

pub(super) const QWEN3_OMNI_MOE: Family = Family {
    classes: &["Qwen3OmniMoeForConditionalGeneration"],
    types: &["qwen3_omni_moe_text", "qwen3_omni_moe"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, EXPERTS, ROWS],
    left_out: SPEECH,
    keys: &[BASE, EXPERT_LENGTHS, NO_DEEPSTACK],
    defaults: Some(Defaults {
        sizes: [3584, 2048, 18944, 28, 28, 32768],
        key_heads: KeyHeads::Of(4),
        theta: 1000000.0,
        more: &[
            ("moe_intermediate_size", 768.0),
            ("num_experts_per_tok", 8.0),
            ("num_experts", 128.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::EndedBy("<|im_end|>", None),
    ..QWEN3_VL_MOE
};
