//! Nemotron-H: layers of state spaces, attention, or a feed-forward network alone.

use super::family::*;

pub(super) const NEMOTRON_H: Family = Family {
    architecture: "nemotron_h",
    classes: &["NemotronHForCausalLM"],
    types: &["nemotron_h"],
    fits: |config| !has_experts(config),
    prefix: "backbone.",
    rows: &[ROWS, MIXERS, FEED_FORWARD],
    gguf: &[GGUF],
    pairs: true,
    keys: &[BEFORE_WIDTHS, KEYS_BEFORE, GRANITE_SCALES, MIXED_KEYS, KEYS, LENGTHS],
    refuse: check,
    rules: &[LAYER_RULES, STATE_HEAD_RULES, SPACE_RULES],
    scalings: &[],
    tokenizer: Tokenizer::BytePairs(&[]),
    mlx: false,
    ..DECODER
};

pub(super) const LAYER_RULES: &[Rule] = &[
    differs(&["mlp_hidden_act"], |_, act| act.is_null() || act == "relu2", "uses relu2"),
    differs(&["mamba_hidden_act"], silu, "uses silu in state spaces"),
    NO_WINDOW,
    fails(
        &["mamba_conv_bias", "use_conv_bias"],
        |case, _| case.has(".ssm_conv1d.bias") || !case.has(".ssm_conv1d.weight"),
        "its convolutions have a bias",
    ),
    free(&["attention_bias", "attention_head_dim", "mlp_bias", "mamba_proj_bias", "rope_theta"]),
    free(&["rope_scaling.rope_theta", "use_mamba_kernels", "num_logits_to_keep", "expand"]),
    free(&["mamba_ssm_cache_dtype", "layer_norm_epsilon", "hybrid_override_pattern"]),
    free(&["layers_block_type", "layer_types"]),
];

pub(super) const ROWS: &[Row] = &[
    ("embeddings", &["token_embd"], Embedding),
    ("norm_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("layers.#.norm", &["blk.#.attn_norm"], Norm),
];

pub(super) const MIXERS: &[Row] = &[
    ("layers.#.mixer.in_proj", &["blk.#.ssm_in"], Plain),
    ("layers.#.mixer.conv1d", &["blk.#.ssm_conv1d"], SQUEEZED),
    ("layers.#.mixer.dt_bias", &["blk.#.ssm_dt.bias"], Plain),
    ("layers.#.mixer.A_log", &["blk.#.ssm_a"], RATE_COLUMN),
    ("layers.#.mixer.D", &["blk.#.ssm_d"], COLUMN),
    ("layers.#.mixer.norm", &["blk.#.ssm_norm"], STATE_NORM),
    ("layers.#.mixer.out_proj", &["blk.#.ssm_out"], Plain),
    ("layers.#.mixer.q_proj", &["blk.#.attn_q"], Query),
    ("layers.#.mixer.k_proj", &["blk.#.attn_k"], Key),
    ("layers.#.mixer.v_proj", &["blk.#.attn_v"], Plain),
    ("layers.#.mixer.o_proj", &["blk.#.attn_output"], Plain),
];

const FEED_FORWARD: &[Row] = &[
    ("layers.#.mixer.up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.mixer.down_proj", &["blk.#.ffn_down"], Plain),
];

/// The widths of heads come later.
pub(super) const BEFORE_WIDTHS: &[KeyRow] = BASE.split_at(BASE.len() - 3).0;
pub(super) const KEYS_BEFORE: &[KeyRow] = &[
    FILE_TYPE,
    VOCABULARY,
    ("rope.dimension_count", Count, Made(|settings| settings.head_share().map(Json::from))),
];

/// What both kinds of files say beside what Granite's do.
pub(super) const KEYS: &[KeyRow] = &[
    ("attention.head_count_kv", Counts, Made(key_heads)),
    ("rope.scaling.finetuned", Flag, Made(|_| Some(false.into()))),
    ("context_length", Count, Made(endless)),
    ("attention.key_length", Count, Made(head_width)),
    ("attention.value_length", Count, Made(head_width)),
];

const LENGTHS: &[KeyRow] = &[("feed_forward_length", Counts, Made(lengths))];

/// A kind of layer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Space,
    Attention,
    Dense,
    Experts,
}

/// The kind of each layer, by a letter or by a word.
pub(super) fn kinds(pattern: &Json) -> Option<Vec<Kind>> {
    if let Some(letters) = pattern.as_str() {
        return letters.chars().map(|letter| kind(letter.encode_utf8(&mut [0; 4]))).collect();
    }
    pattern.as_array()?.iter().map(|word| kind(word.as_str()?)).collect()
}

fn kind(word: &str) -> Option<Kind> {
    match word {
        "M" | "mamba" | "linear_attention" => Some(Kind::Space),
        "*" | "attention" | "full_attention" => Some(Kind::Attention),
        "-" | "mlp" => Some(Kind::Dense),
        "E" | "moe" => Some(Kind::Experts),
        _ => None,
    }
}

/// Where configs of different age have the kinds of layers.
const PATTERN: [&str; 2] = ["hybrid_override_pattern", "layers_block_type"];

/// Whether any layer has experts.
pub(super) fn has_experts(config: &Json) -> bool {
    let pattern = PATTERN.iter().find_map(|key| config.get(key)).and_then(kinds);
    pattern.is_some_and(|kinds| kinds.contains(&Kind::Experts))
}

pub(super) fn layers(settings: &Settings) -> Option<Vec<Kind>> {
    let kinds = settings.find(&PATTERN).and_then(kinds)?;
    (settings.count("num_hidden_layers") == Some(kinds.len() as u64)).then_some(kinds)
}

/// A number for layers of a kind, zero for others.
pub(super) fn for_kind(settings: &Settings, wanted: Kind, number: u64) -> Option<Json> {
    let kinds = layers(settings)?.into_iter();
    Some(kinds.map(|kind| if kind == wanted { number } else { 0 }).collect())
}

fn key_heads(settings: &Settings) -> Option<Json> {
    for_kind(settings, Kind::Attention, settings.count("num_key_value_heads")?)
}

fn lengths(settings: &Settings) -> Option<Json> {
    let stated = settings.find(&["intermediate_size", "n_inner", "hidden_dim"]).and_then(whole)?;
    for_kind(settings, Kind::Dense, stated)
}

fn head_width(settings: &Settings) -> Option<Json> {
    settings.find(&["head_dim", "attention_head_dim"]).cloned()
}

/// Refuses configs that do not tell layers apart.
pub(super) fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    if settings.count("num_nextn_predict_layers").unwrap_or(0) > 0 {
        return Err(not_yet("models of Nemotron-H that predict further tokens"));
    }
    match layers(settings) {
        Some(_) => Ok(()),
        None => Err(Error::malformed("config.json does not name a kind for each layer")
            .hint("state `hybrid_override_pattern`, with M, *, - or E for each layer")),
    }
}
