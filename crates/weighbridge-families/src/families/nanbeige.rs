//! Nanbeige 4.2, whose layers may run several times.

use super::family::*;

pub(super) const NANBEIGE: Family = Family {
    architecture: "nanbeige",
    classes: &["NanbeigeForCausalLM"],
    types: &["nanbeige"],
    pairs: true,
    keys: &[BASE, ROTARY, KEYS],
    computed: llama3_factors,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "llama3"],
    tokenizer: Tokenizer::LlamaLike,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    fails(
        &["attention_bias"],
        |case, _| !case.has(".attn_output.bias"),
        "it has no bias behind attention in this family",
    ),
    NO_MLP_BIAS,
];

const KEYS: &[KeyRow] = &[
    ("num_loops", Count, Made(loops)),
    ("skip_loop_final_norm", Flag, Made(|settings| Some(is_set(settings).into()))),
];

/// One where the config states none, or none that makes sense.
fn loops(settings: &Settings) -> Option<Json> {
    let stated = settings.find(&["num_loops"]).cloned().unwrap_or_else(|| 1.into());
    Some(if stated.as_f64().is_some_and(|loops| loops < 1.0) { 1.into() } else { stated })
}

fn is_set(settings: &Settings) -> bool {
    settings.find(&["skip_loop_final_norm"]).is_some_and(|flag| *flag != false && *flag != 0)
}
