//! Mamba, and Falcon Mamba, which norms what its state spaces are made from.

use super::family::*;

pub(super) const MAMBA: Family = Family {
    architecture: "mamba",
    classes: &["MambaForCausalLM", "MambaLMHeadModel", "FalconMambaForCausalLM"],
    types: &["mamba", "falcon_mamba"],
    prefix: "backbone.",
    rows: &[SPACE_TRUNK, STATE_SPACE],
    gguf: &[],
    tied: true,
    drops_head: DropsHead::Tied,
    keys: &[KEYS],
    refuse: needs_twice_the_width,
    rules: &[RULES, SPACE_RULES],
    scalings: &[],
    tokenizer: Tokenizer::PairsOrPieces,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(
        &["mixer_rms_eps"],
        |case, epsilon| {
            let own = case.value("layer_norm_epsilon").as_f64().unwrap_or(1e-5);
            // Falcon Mamba's class takes this where a config has none.
            let stated = epsilon.as_f64().unwrap_or(1e-6);
            case.value("model_type") != "falcon_mamba" || (stated - own).abs() < 1e-9
        },
        "uses layer_norm_epsilon for the norms within state spaces too",
    ),
    fails(
        &["conv_bias", "use_conv_bias"],
        |case, _| case.has(".ssm_conv1d.bias") || !case.has(".ssm_conv1d.weight"),
        "its convolutions have a bias",
    ),
    // Other names of keys above.
    free(&["d_inner", "d_model", "n_layer"]),
    free(&["use_falcon_mambapy", "use_mambapy", "use_associative_scan"]),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Made(endless)),
    ("embedding_length", Count, Needed(SPACE_WIDTH)),
    ("feed_forward_length", Count, Made(unused)),
    ("attention.head_count", Count, Made(unused)),
    ("block_count", Count, Needed(LAYERS)),
    ("ssm.conv_kernel", Count, Made(|settings| either(settings, &["conv_kernel", "d_conv"], 4))),
    ("ssm.inner_size", Count, Made(|settings| inner(settings).map(Json::from))),
    ("ssm.state_size", Count, Made(|settings| either(settings, &["state_size", "d_state"], 16))),
    ("ssm.time_step_rank", Count, Made(rank)),
    ("attention.layer_norm_rms_epsilon", Number, Made(space_epsilon)),
    ("ssm.dt_b_c_rms", Flag, Made(is_normed)),
    FILE_TYPE,
];

fn inner(settings: &Settings) -> Option<u64> {
    let width = settings.find(SPACE_WIDTH).and_then(whole)?;
    count_of(settings, &["intermediate_size", "d_inner"], width.checked_mul(2)?)
}

fn rank(settings: &Settings) -> Option<Json> {
    let width = settings.find(SPACE_WIDTH).and_then(whole)?;
    either(settings, &["time_step_rank", "dt_rank"], width.div_ceil(16))
}

fn is_normed(settings: &Settings) -> Option<Json> {
    let kind = settings.find(&["model_type"]);
    Some(kind.is_some_and(|kind| kind == "falcon_mamba").into())
}

fn needs_twice_the_width(settings: &Settings, _: &About<'_>) -> Result<()> {
    let width = settings.find(SPACE_WIDTH).and_then(whole);
    if inner(settings).is_some() && inner(settings) == width.and_then(|width| width.checked_mul(2))
    {
        return Ok(());
    }
    Err(not_yet("models of Mamba whose inner size is not twice the hidden size"))
}
