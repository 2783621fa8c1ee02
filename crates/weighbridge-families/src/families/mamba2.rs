//! The second Mamba, whose heads each have one decay rate.

use super::family::*;

pub(super) const MAMBA2: Family = Family {
    architecture: "mamba2",
    classes: &["Mamba2ForCausalLM"],
    types: &["mamba2"],
    prefix: "backbone.",
    rows: &[SPACE_TRUNK, ROWS, STATE_HEADS],
    gguf: &[],
    keys: &[KEYS],
    refuse: check,
    rules: &[RULES, STATE_HEAD_RULES, SPACE_RULES],
    scalings: &[],
    tokenizer: Tokenizer::PiecesOrPairs,
    mlx: false,
    ..DECODER
};

const ROWS: &[Row] = &[
    ("layers.#.norm", &["blk.#.attn_norm"], Norm),
    ("layers.#.mixer.norm", &["blk.#.ssm_norm"], Own(Lay(norm))),
];

const RULES: &[Rule] = &[
    fails(
        &["conv_bias", "use_conv_bias"],
        |case, _| case.has(".ssm_conv1d.bias") || !case.has(".ssm_conv1d.weight"),
        "its convolutions have a bias",
    ),
    differs(
        &["n_groups"],
        |_, groups| groups.is_null() || is_number(groups, 1.0),
        "normalizes each group of heads alone, and the class of transformers all of them together",
    ),
    free(&["norm_before_gate", "rms_norm", "time_step_rank"]),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Made(endless)),
    ("embedding_length", Count, Needed(WIDTH)),
    ("feed_forward_length", Count, Made(unused)),
    ("attention.head_count", Count, Made(unused)),
    ("block_count", Count, Needed(LAYERS)),
    ("ssm.conv_kernel", Count, Made(|settings| either(settings, &["conv_kernel", "d_conv"], 4))),
    ("ssm.inner_size", Count, Made(|settings| inner(settings).map(Json::from))),
    ("ssm.state_size", Count, Made(|settings| either(settings, &["state_size", "d_state"], 128))),
    ("ssm.time_step_rank", Count, Made(|settings| heads(settings).map(Json::from))),
    ("ssm.group_count", Count, Made(|settings| Some(groups(settings)?.into()))),
    ("attention.layer_norm_rms_epsilon", Number, Made(space_epsilon)),
    FILE_TYPE,
];

const WIDTH: &[&str] = &["hidden_size", "d_model", "dim"];

fn expanded(settings: &Settings) -> Option<u64> {
    let width = settings.find(WIDTH).and_then(whole)?;
    count_of(settings, &["mamba_expand", "expand"], 2)?.checked_mul(width)
}

fn inner(settings: &Settings) -> Option<u64> {
    count_of(settings, &["mamba_d_ssm", "intermediate_size", "d_inner"], expanded(settings)?)
}

fn head_width(settings: &Settings) -> Option<u64> {
    count_of(settings, &["mamba_d_head", "head_dim"], 64)
}

fn heads(settings: &Settings) -> Option<u64> {
    inner(settings)?.checked_div(head_width(settings)?)
}

fn groups(settings: &Settings) -> Option<u64> {
    count_of(settings, &["n_groups"], 1)
}

fn norm(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    grouped(groups(settings)?, shape)
}

/// Refuses sizes that contradict each other.
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    let (inner, width) = (inner(settings), head_width(settings).unwrap_or(1));
    if inner.is_some_and(|inner| inner.is_multiple_of(width)) && inner == expanded(settings) {
        return Ok(());
    }
    Err(Error::malformed(
        "config.json: the inner size is not `expand` times the hidden size, or is no multiple of the \
         width of a head",
    ))
}
