//! Apertus. Its activation has parameters of its own in every layer, which files have as metadata.

use super::family::*;

pub(super) const APERTUS: Family = Family {
    architecture: "apertus",
    classes: &["ApertusForCausalLM"],
    types: &["apertus"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, NORMS],
    measured: &[
        ("layers.#.mlp.act_fn.alpha_n", ALPHA_N),
        ("layers.#.mlp.act_fn.alpha_p", ALPHA_P),
        ("layers.#.mlp.act_fn.beta", BETA),
        ("layers.#.mlp.act_fn.eps", EPS),
    ],
    early: &[
        ("xielu.alpha_n", Numbers, Made(|settings| by_layer(settings, ALPHA_N))),
        ("xielu.alpha_p", Numbers, Made(|settings| by_layer(settings, ALPHA_P))),
        ("xielu.beta", Numbers, Made(|settings| by_layer(settings, BETA))),
        ("xielu.eps", Numbers, Made(|settings| by_layer(settings, EPS))),
    ],
    keys: &[BASE, ROTARY],
    computed: llama3_factors,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "llama3"],
    defaults: Some(Defaults {
        sizes: [131072, 4096, 14336, 32, 32, 65536],
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 12000000.0,
        scaling: Some((
            "llama3",
            &[
                ("rope_theta", 12000000.0),
                ("factor", 8.0),
                ("original_max_position_embeddings", 8192.0),
                ("low_freq_factor", 1.0),
                ("high_freq_factor", 4.0),
            ],
        )),
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::LlamaLike,
    ..DECODER
};

const RULES: &[Rule] = &[
    fails(
        &["hidden_act"],
        |_, act| act.is_null() || act == "xielu",
        "it needs the parameters of xIELU in this family",
    ),
    free(&["attention_bias", "qk_norm", "post_norm", "mlp_bias"]),
    NEEDS_HEAD,
];

const NORMS: &[Row] = &[
    ("layers.#.attention_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.feedforward_layernorm", &["blk.#.ffn_norm"], Norm),
];

const ALPHA_N: &str = " alpha_n";
const ALPHA_P: &str = " alpha_p";
const BETA: &str = " beta";
const EPS: &str = " eps";

/// A parameter of the activation, which every layer has to have.
fn by_layer(settings: &Settings, parameter: &str) -> Option<Json> {
    let numbers = settings.find(&[parameter])?.as_array()?;
    let found = numbers.len() as u64;
    Some(match settings.count("num_hidden_layers") {
        Some(layers) if layers == found => numbers.clone().into(),
        _ => format!("parameters of {found} layers").into(),
    })
}
