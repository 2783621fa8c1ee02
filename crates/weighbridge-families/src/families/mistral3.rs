//! Mistral 3 and Ministral 3, alone or with vision.

use super::family::*;
use super::llama::LLAMA;

pub(super) const MISTRAL3: Family = Family {
    architecture: "mistral3",
    classes: &["Ministral3ForCausalLM", "Mistral3ForConditionalGeneration"],
    types: &["ministral3", "mistral3"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS],
    keys: &[BASE, ROTARY, KEYS],
    refuse: refuse_without_yarn,
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [131072, 4096, 14336, 34, 32, 262144],
        key_heads: KeyHeads::Of(8),
        head: Head::OfOrShare(128),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 1000000.0,
        scaling: Some(("yarn", SCALING)),
        ..DEFAULTS
    }),
    back: Some(Back {
        // The language model of Mistral Small 3.1 has another class.
        is: |told| told.own("attention.temperature_scale").is_some(),
        fixed: &[("rope_scaling", with_growth)],
        untold: &[("sliding_window", "null"), ("rope_scaling.mscale", "1.0")],
        ..BACK
    }),
    mlx: false,
    ..LLAMA
};

const SCALING: &[(&str, f64)] = &[
    ("factor", 16.0),
    ("original_max_position_embeddings", 16384.0),
    ("max_position_embeddings", 262144.0),
    ("beta_fast", 32.0),
    ("beta_slow", 1.0),
    ("mscale_all_dim", 1.0),
    ("mscale", 1.0),
    ("llama_4_scaling_beta", 0.1),
];

const RULES: &[Rule] = &[
    SILU,
    NO_WINDOW,
    differs(
        &["rope_scaling.mscale"],
        |case, scale| !is_ministral(case.settings) || is_number(scale, 1.0),
        "scales attention as if mscale were 1",
    ),
    differs(
        &["rope_scaling.attention_factor"],
        |case, factor| !is_ministral(case.settings) || factor.is_null(),
        "uses the factor that follows from mscale_all_dim",
    ),
    free(&["rope_scaling.beta_fast", "rope_scaling.beta_slow"]),
    // What attention grows by with the context: stated in entries of their own.
    free(&["rope_scaling.mscale_all_dim", "rope_scaling.llama_4_scaling_beta"]),
    free(&["rope_scaling.max_position_embeddings"]),
];

const KEYS: &[KeyRow] = &[
    (
        "rope.scaling.yarn_log_multiplier",
        Number,
        Made(|settings| of_ministral(settings, "mscale_all_dim")),
    ),
    (
        "attention.temperature_scale",
        Number,
        Made(|settings| of_ministral(settings, "llama_4_scaling_beta")),
    ),
];

/// Whether it is Ministral, whose attention grows with the context.
fn is_ministral(settings: &Settings) -> bool {
    settings.find(&["model_type"]).is_some_and(|kind| kind == "ministral3")
}

fn of_ministral(settings: &Settings, key: &str) -> Option<Json> {
    settings.rope(&[key]).filter(|_| is_ministral(settings)).cloned()
}

/// The converter takes Ministral for a model scaled by YaRN, with all of these stated.
fn refuse_without_yarn(settings: &Settings, _: &About<'_>) -> Result<()> {
    if !is_ministral(settings) {
        return Ok(());
    }
    let needed = ["factor", "mscale_all_dim", "llama_4_scaling_beta"];
    let missing = needed.iter().find(|key| settings.rope(&[key]).is_none());
    if let Some(key) = missing.filter(|_| scaling(settings).as_deref() == Some("yarn")) {
        return Err(Error::malformed(format!("config.json: rotary scaling states no `{key}`"))
            .hint(format!("state `{key}` under `rope_parameters`")));
    }
    match scaling(settings).as_deref() {
        Some("yarn") => Ok(()),
        _ => Err(not_yet("Ministral 3 without rotary scaling of type `yarn`")),
    }
}

/// What attention grows by with the context, which the class has among the rotary parameters.
fn with_growth(told: &Told<'_>, config: &Config) -> Option<Json> {
    let mut scaling = config.get("rope_scaling")?.clone();
    let stated = |key: &str| as_json(&told.own(key)?);
    scaling["mscale"] = 1.0.into();
    scaling["mscale_all_dim"] = stated("rope.scaling.yarn_log_multiplier")?;
    scaling["llama_4_scaling_beta"] = stated("attention.temperature_scale")?;
    Some(scaling)
}
