//! Solar Open: GLM 4.5 without dense layers.

use super::family::*;
use super::glm4_moe::{GLM4_MOE, KEYS, RULES};

pub(super) const SOLAR_OPEN: Family = Family {
    classes: &["SolarOpenForCausalLM"],
    types: &["solar_open"],
    predicts: false,
    counts_next: None,
    keys: &[BASE, KEYS],
    rules: &[RULES, WHOLE, ROPE],
    defaults: Some(Defaults {
        sizes: [196608, 4096, 0, 48, 64, 131072],
        key_heads: KeyHeads::Of(8),
        head: Head::OfOrShare(128),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 1000000.0,
        more: &[
            ("moe_intermediate_size", 1280.0),
            ("num_experts_per_tok", 8.0),
            ("n_shared_experts", 1.0),
            ("n_routed_experts", 128.0),
            ("routed_scaling_factor", 1.0),
            ("n_group", 1.0),
            ("topk_group", 1.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::BytePairs(&[
        ("eos", "<|endoftext|>"),
        ("eot", "<|endoftext|>"),
        ("unk", "<unk>"),
        ("bos", "<|startoftext|>"),
    ]),
    back: None,
    ..GLM4_MOE
};

/// The class rotates whole heads where a config says nothing, and files are made as if it were GLM's.
const WHOLE: &[Rule] = &[differs(
    &["rope_scaling.partial_rotary_factor"],
    |case, _| case.settings.rope(&["partial_rotary_factor"]).is_some(),
    "rotates half of a head where the config does not say how much",
)];
