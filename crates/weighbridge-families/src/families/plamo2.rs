//! PLaMo 2: state spaces in every other layer.

use super::family::*;

pub(super) const PLAMO2: Family = Family {
    architecture: "plamo2",
    classes: &["Plamo2ForCausalLM", "PLaMo2ForCausalLM"],
    types: &["plamo2"],
    rows: &[PLAMO_ROWS, ROWS],
    gguf: &[],
    tied: true,
    keys: &[KEYS],
    refuse: mixes_layers,
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::Plamo { templates: false },
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(
        &["full_attention_idx"],
        |case, layers| off(case, layers) || off(case, &case.value("attention_window_size")),
        "lets every layer see the whole text",
    ),
    differs(
        &["attention_window_size"],
        |case, window| off(case, window) || case.is_beyond_context(window),
        "lets every layer see the whole text, beyond the window too",
    ),
    free(&["eval_attention_n_bit", "eval_mlp_n_bit", "fp8_accum_dtype", "image_feature_size"]),
    free(&["image_proj_type", "image_token_id", "linear_type", "mamba_chunk_size", "use_cache"]),
    free(&[
        "capacity_factor",
        "group_loss_weight",
        "mamba_enabled",
        "mamba_step",
        "use_predefined_initial_state",
    ]),
];

const ROWS: &[Row] = &[
    ("layers.layers.#.mixer.q_weight", &["blk.#.attn_q_norm"], Plain),
    ("layers.layers.#.mixer.k_weight", &["blk.#.attn_k_norm"], Plain),
    ("layers.layers.#.mixer.in_proj", &["blk.#.ssm_in"], Plain),
    ("layers.layers.#.mixer.conv1d", &["blk.#.ssm_conv1d"], SQUEEZED),
    ("layers.layers.#.mixer.bcdt_proj", &["blk.#.ssm_x"], Plain),
    ("layers.layers.#.mixer.dt_proj", &["blk.#.ssm_dt"], Plain),
    ("layers.layers.#.mixer.dt_bias", &["blk.#.ssm_dt.bias"], Plain),
    ("layers.layers.#.mixer.dt_norm_weight", &["blk.#.ssm_dt_norm!"], Plain),
    ("layers.layers.#.mixer.B_norm_weight", &["blk.#.ssm_b_norm!"], Plain),
    ("layers.layers.#.mixer.C_norm_weight", &["blk.#.ssm_c_norm!"], Plain),
    ("layers.layers.#.mixer.A_log", &["blk.#.ssm_a"], Own(Lay(rates))),
    ("layers.layers.#.mixer.D", &["blk.#.ssm_d"], Plain),
    ("layers.layers.#.mixer.out_proj", &["blk.#.ssm_out"], Plain),
];

const KEYS: &[KeyRow] = &[
    VOCABULARY,
    (
        "attention.head_count_kv",
        Counts,
        Made(|settings| by_layer(settings, "num_key_value_heads", 4)),
    ),
    (
        "attention.head_count",
        Counts,
        Made(|settings| by_layer(settings, "num_attention_heads", 32)),
    ),
    ("context_length", Count, Made(|settings| or(settings, "max_position_embeddings", 2048))),
    ("embedding_length", Count, Made(|settings| or(settings, "hidden_size", 4096))),
    ("attention.key_length", Count, Made(|settings| or(settings, "hidden_size_per_head", 128))),
    ("attention.value_length", Count, Made(|settings| or(settings, "hidden_size_per_head", 128))),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.layer_norm_rms_epsilon", Number, Made(epsilon)),
    ("rope.freq_base", Number, Made(base)),
    ("ssm.state_size", Count, Made(|settings| or(settings, "mamba_d_state", 64))),
    ("ssm.conv_kernel", Count, Made(|settings| or(settings, "mamba_d_conv", 4))),
    ("ssm.time_step_rank", Count, Made(|settings| or(settings, "mamba_num_heads", 64))),
    ("ssm.inner_size", Count, Made(inner)),
    ("ssm.group_count", Count, Made(unused)),
    ("feed_forward_length", Count, Made(|settings| or(settings, "intermediate_size", 13312))),
    FILE_TYPE,
];

fn or(settings: &Settings, key: &str, otherwise: u64) -> Option<Json> {
    Some(settings.find(&[key]).cloned().unwrap_or_else(|| otherwise.into()))
}

fn epsilon(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["rms_norm_eps"]).cloned().unwrap_or_else(|| 1e-6.into()))
}

fn base(settings: &Settings) -> Option<Json> {
    Some(settings.rope(&["rope_theta"]).cloned().unwrap_or_else(|| 10000.into()))
}

fn inner(settings: &Settings) -> Option<Json> {
    let heads = or(settings, "mamba_num_heads", 64)?.as_u64()?;
    heads.checked_mul(or(settings, "hidden_size_per_head", 128)?.as_u64()?).map(Json::from)
}

fn rates(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[_] = shape else { return None };
    Some(Laid::whole(View { change: Change::MinusExp, ..View::whole(shape) }, "-exp"))
}

/// Which layers attend: one of every so many, or the last one of few.
fn attending(settings: &Settings) -> Option<Vec<bool>> {
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let step = or(settings, "mamba_step", 2)?.as_u64().filter(|step| *step > 0)?;
    let attends = |layer: u64| match layers <= step / 2 {
        true => layer + 1 == layers,
        false => layer % step == step / 2,
    };
    Some((0..layers).map(attends).collect())
}

/// A number for layers that attend, zero for others.
fn by_layer(settings: &Settings, key: &str, otherwise: u64) -> Option<Json> {
    let number = or(settings, key, otherwise)?;
    let layers = attending(settings)?.into_iter();
    Some(layers.map(|attends| if attends { number.clone() } else { 0.into() }).collect())
}

/// Refuses models without state spaces, for whose files the converter states no heads.
fn mixes_layers(settings: &Settings, _: &About<'_>) -> Result<()> {
    if settings.find(&["mamba_enabled"]).is_some_and(|on| *on == false) {
        return Err(not_yet("models of PLaMo 2 without state spaces"));
    }
    match attending(settings) {
        Some(_) => Ok(()),
        None => Err(Error::malformed("config.json does not tell which layers attend")),
    }
}
