//! Falcon-H1: attention and state spaces side by side. GGUF has its multipliers within the weights.

use super::family::*;

pub(super) const FALCON_H1: Family = Family {
    architecture: "falcon-h1",
    classes: &["FalconH1ForCausalLM"],
    types: &["falcon_h1"],
    rows: &[ROWS, SPACE_ROWS],
    gguf: &[GGUF, GGUF_SPACES],
    keys: &[KEYS],
    refuse: check,
    rules: &[RULES, STATE_HEAD_RULES, ROPE],
    scalings: &[],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    fails(
        &["mamba_conv_bias"],
        |case, _| case.has(".ssm_conv1d.bias") || !case.has(".ssm_conv1d.weight"),
        "its convolutions have a bias",
    ),
    fails(
        &["mamba_proj_bias", "projectors_bias"],
        |case, _| !case.has(".ssm_in.bias") && !case.has(".ssm_out.bias"),
        "its projections of state spaces have no bias",
    ),
    differs(
        &["mamba_norm_before_gate"],
        |case, before| off(case, before) || !case.has(".ssm_norm.weight"),
        "norms state spaces behind their gate",
    ),
    differs(
        &["tie_word_embeddings"],
        |case, _| {
            let is_own = case.has("output.weight") || !case.has("token_embd.weight");
            is_own || case.value("embedding_multiplier") == case.value("lm_head_multiplier")
        },
        "takes the embedding as output head, scaled as it is for embedding",
    ),
    free(&[
        "attention_bias",
        "mlp_bias",
        "mamba_expand",
        "mamba_chunk_size",
        "mamba_use_mlp",
        "mamba_n_heads",
    ]),
    free(&["mamba_rms_norm", "mlp_expansion_factor", "num_logits_to_keep", "attn_layer_indices"]),
    // Within the weights.
    free(&["attention_in_multiplier", "attention_out_multiplier", "embedding_multiplier"]),
    free(&["key_multiplier", "lm_head_multiplier", "mlp_multipliers", "ssm_in_multiplier"]),
    free(&["ssm_multipliers", "ssm_out_multiplier"]),
];

const ROWS: &[Row] = &[
    (
        "embed_tokens",
        &["token_embd"],
        Own(Lay(|s, shape| times(one(s, "embedding_multiplier"), shape))),
    ),
    ("final_layernorm", &["output_norm"], Norm),
    ("lm_head", &["output"], Own(Lay(|s, shape| times(one(s, "lm_head_multiplier"), shape)))),
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.pre_ff_layernorm", &["blk.#.ffn_norm!"], Norm),
    ("layers.#.self_attn.q_proj", &["blk.#.attn_q"], INTO_ATTENTION),
    ("layers.#.self_attn.k_proj", &["blk.#.attn_k"], Own(Lay(keys))),
    ("layers.#.self_attn.v_proj", &["blk.#.attn_v"], INTO_ATTENTION),
    (
        "layers.#.self_attn.o_proj",
        &["blk.#.attn_output"],
        Own(Lay(|s, shape| times(one(s, "attention_out_multiplier"), shape))),
    ),
    (
        "layers.#.feed_forward.gate_proj",
        &["blk.#.ffn_gate"],
        Own(Lay(|s, shape| times(among(s, "mlp_multipliers", 0), shape))),
    ),
    ("layers.#.feed_forward.up_proj", &["blk.#.ffn_up"], Plain),
    (
        "layers.#.feed_forward.down_proj",
        &["blk.#.ffn_down"],
        Own(Lay(|s, shape| times(among(s, "mlp_multipliers", 1), shape))),
    ),
];

const INTO_ATTENTION: How = Own(Lay(|s, shape| times(one(s, "attention_in_multiplier"), shape)));

const SPACE_ROWS: &[Row] = &[
    ("layers.#.mamba.in_proj", &["blk.#.ssm_in"], Own(Lay(spaces::<true>))),
    ("layers.#.mamba.conv1d", &["blk.#.ssm_conv1d"], SQUEEZED),
    ("layers.#.mamba.dt_bias", &["blk.#.ssm_dt.bias"], Plain),
    ("layers.#.mamba.A_log", &["blk.#.ssm_a"], RATE_COLUMN),
    ("layers.#.mamba.D", &["blk.#.ssm_d"], COLUMN),
    ("layers.#.mamba.norm", &["blk.#.ssm_norm"], STATE_NORM),
    (
        "layers.#.mamba.out_proj",
        &["blk.#.ssm_out"],
        Own(Lay(|s, shape| times(one(s, "ssm_out_multiplier"), shape))),
    ),
];

const GGUF_SPACES: &[Row] = &[("blk.#.ssm_in", &["blk.#.ssm_in"], Own(Lay(spaces::<false>)))];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Made(context)),
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("attention.head_count", Count, Needed(&["num_attention_heads"])),
    ("block_count", Count, Needed(LAYERS)),
    ("ssm.conv_kernel", Count, Made(|settings| either(settings, &["mamba_d_conv"], 4))),
    ("ssm.inner_size", Count, Needed(&["mamba_d_ssm"])),
    ("ssm.state_size", Count, Made(|settings| either(settings, &["mamba_d_state"], 128))),
    ("ssm.time_step_rank", Count, Made(heads)),
    ("ssm.group_count", Count, Needed(&["mamba_n_groups"])),
    ("attention.layer_norm_rms_epsilon", Number, Made(space_epsilon)),
    FILE_TYPE,
    VOCABULARY,
    ("attention.head_count_kv", Count, Needed(&["num_key_value_heads"])),
    ("attention.key_length", Count, Needed(&["head_dim"])),
    ("attention.value_length", Count, Needed(&["head_dim"])),
    ("rope.freq_base", Number, Rope(&["rope_theta"])),
];

fn context(settings: &Settings) -> Option<Json> {
    or_zero(settings, "max_position_embeddings")
}

fn heads(settings: &Settings) -> Option<Json> {
    let width = count_of(settings, &["mamba_d_head"], 64)?;
    settings.count("mamba_d_ssm")?.checked_div(width).map(Json::from)
}

/// A multiplier.
#[allow(clippy::cast_possible_truncation)] // f32 is what is meant.
fn one(settings: &Settings, key: &str) -> Option<f32> {
    settings.find(&[key]).and_then(Json::as_f64).map(|number| number as f32)
}

/// One of several multipliers.
#[allow(clippy::cast_possible_truncation)] // f32 is what is meant.
fn among(settings: &Settings, key: &str, at: usize) -> Option<f32> {
    settings.find(&[key])?.get(at)?.as_f64().map(|number| number as f32)
}

/// Two multipliers as one, if nothing is rounded between them: one of them is a power of two.
fn both(a: Option<f32>, b: Option<f32>) -> Option<f32> {
    let is_exact = |number: f32| number.is_normal() && number.to_bits() << 9 == 0;
    let (a, b) = a.zip(b)?;
    (is_exact(a) || is_exact(b)).then_some(a * b)
}

fn times(factor: Option<f32>, shape: &[u64]) -> Option<Vec<Laid>> {
    let factor = factor?;
    let view = View { change: Change::Times(factor), ..View::whole(shape) };
    Some(Laid::whole(view, format!("times {factor}")))
}

fn keys(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    times(both(one(settings, "key_multiplier"), one(settings, "attention_in_multiplier")), shape)
}

/// Rows of gates, of inputs, of both sides of the state, and of time steps; scaled, or as a file has them.
fn spaces<const SCALED: bool>(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[rows, columns] = shape else { return None };
    let [inner, groups, state] =
        ["mamba_d_ssm", "mamba_n_groups", "mamba_d_state"].map(|key| settings.count(key));
    let side = groups?.checked_mul(state?)?;
    let steps = rows.checked_sub(inner?.checked_add(side)?.checked_mul(2)?)?;
    let mut first = 0;
    let parts = (0..).zip([inner?, inner?, side, side, steps]).map(|(at, part)| {
        let factor =
            both(one(settings, "ssm_in_multiplier"), among(settings, "ssm_multipliers", at))?;
        let change = if SCALED { Change::Times(factor) } else { Change::None };
        let view = View { change, ..View::part(&[part, columns], first) };
        let words = format!("rows {first}..{} times {factor}", first + part);
        first += part;
        Some(Laid { tensor: 0, place: Place::Joined(at as u64), view, words })
    });
    parts.collect()
}

/// Refuses multipliers that are missing, and two of one weight that cannot be one without another rounding.
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    let keys =
        ["embedding_multiplier", "lm_head_multiplier", "attention_in_multiplier", "key_multiplier"];
    let more = ["attention_out_multiplier", "ssm_in_multiplier", "ssm_out_multiplier"];
    if let Some(key) = keys.iter().chain(&more).find(|key| one(settings, key).is_none()) {
        return Err(Error::malformed(format!("config.json has no number as `{key}`")));
    }
    let inner = one(settings, "ssm_in_multiplier");
    let key = both(one(settings, "key_multiplier"), one(settings, "attention_in_multiplier"));
    let spaces = (0..5).map(|at| both(inner, among(settings, "ssm_multipliers", at)));
    if among(settings, "mlp_multipliers", 1).is_none()
        || among(settings, "ssm_multipliers", 4).is_none()
    {
        return Err(Error::malformed("config.json does not list all multipliers"));
    }
    match key.is_some() && spaces.clone().all(|both| both.is_some()) {
        true => Ok(()),
        false => Err(not_yet(
            "models of Falcon-H1 with two multipliers of one weight that have to be rounded",
        )),
    }
}
