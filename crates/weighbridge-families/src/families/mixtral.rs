//! Mixtral.

use super::family::*;
use super::llama::LLAMA;

pub(super) const MIXTRAL: Family = Family {
    classes: &["MixtralForCausalLM"],
    types: &["mixtral"],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [32000, 4096, 14336, 32, 32, 131072],
        key_heads: KeyHeads::Of(8),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 1000000.0,
        more: &[("num_experts_per_tok", 2.0), ("num_local_experts", 8.0)],
        ..DEFAULTS
    }),
    back: Some(Back {
        is: |told| told.own("expert_count").is_some_and(|count| count.as_u64() > Some(0)),
        untold: &[("sliding_window", "null")],
        ..BACK
    }),
    mlx: false,
    ..LLAMA
};

const RULES: &[Rule] = &[SILU, NO_WINDOW];
