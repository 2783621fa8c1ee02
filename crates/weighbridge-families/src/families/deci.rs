//! DeciLM and Nemotron's models found by architecture search, whose layers differ.

use super::family::*;

pub(super) const DECI: Family = Family {
    architecture: "deci",
    classes: &["DeciLMForCausalLM"],
    types: &["nemotron-nas", "deci"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, ROWS],
    pairs: true,
    keys: &[SEVEN, SEARCHED, KEYS],
    computed: llama3_factors,
    rules: &[RULES, ROPE],
    scalings: &["llama3"],
    tokenizer: Tokenizer::LlamaLike,
    mlx: false,
    ..DECODER
};

const ROWS: &[Row] = &[
    ("layers.#.self_attn.k_proj", &["blk.#.attn_k"], Own(Lay(keys))),
    // What takes the place of attention in some layers.
    ("layers.#.self_attn.linear_attn", &["blk.#.attn_output"], Plain),
];

/// Key heads in pairs. How many there are differs between layers, and the rows tell.
fn keys(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[rows, _] = shape else { return None };
    let width = settings.head_width().filter(|width| *width > 0 && width.is_multiple_of(2))?;
    let heads = Some(rows / width).filter(|heads| *heads > 0 && heads * width == rows)?;
    let view = View::whole(shape).by_heads(heads, false)?;
    Some(Laid::whole(view, format!("permute heads={heads}")))
}

const RULES: &[Rule] = &[
    SILU,
    fails(&["attention_bias"], off, "keys of this family have no bias"),
    differs(&["mlp_bias"], on_or_off, "has biases where the weights do"),
    differs(
        &["block_configs"],
        |_, layers| layers.as_array().is_none_or(|layers| layers.iter().all(is_plain)),
        "sees the whole text in every layer, and has no linear feed-forward ones",
    ),
    free(&["num_key_value_heads", "intermediate_size"]),
];

fn on_or_off(_: &Case<'_>, _: &Json) -> bool {
    true
}

/// Whether a layer has nothing that llama.cpp does not run.
fn is_plain(layer: &Json) -> bool {
    let attention = ["window_length", "sparsify", "num_sink_tokens"];
    let feed_forward = ["replace_with_linear", "sparsify"];
    let is_off = |value: &Json| value.is_null() || *value == false;
    attention.iter().all(|key| is_off(&layer["attention"][key]))
        && feed_forward.iter().all(|key| is_off(&layer["ffn"][key]))
}

/// Entries of DeciLM 7B, where only the number of key heads differs between layers.
const SEVEN: &[KeyRow] = &[
    ("block_count", Count, Made(|settings| seven(settings, "num_hidden_layers"))),
    ("context_length", Count, Made(|settings| seven(settings, "max_position_embeddings"))),
    ("embedding_length", Count, Made(|settings| seven(settings, "hidden_size"))),
    ("feed_forward_length", Count, Made(|settings| seven(settings, "intermediate_size"))),
    ("attention.head_count", Count, Made(|settings| seven(settings, "num_attention_heads"))),
    ("attention.head_count_kv", Count, Made(|settings| seven(settings, "num_key_value_heads"))),
    ("rope.freq_base", Number, Made(|settings| base(settings, false))),
    (EPSILON, Number, Made(|settings| seven(settings, "rms_norm_eps"))),
    ("attention.key_length", Count, Made(|settings| seven(settings, "head_dim"))),
    ("attention.value_length", Count, Made(|settings| seven(settings, "head_dim"))),
];

/// Entries of the models with a config for each layer.
const SEARCHED: &[KeyRow] = &[
    ("rope.freq_base", Number, Made(|settings| base(settings, true))),
    ("attention.head_count_kv", Counts, Made(|settings| per_layer(settings, key_heads))),
    ("attention.head_count", Counts, Made(|settings| per_layer(settings, heads))),
    ("feed_forward_length", Counts, Made(|settings| per_layer(settings, inner_size))),
    ("block_count", Count, Made(|settings| searched(settings, "num_hidden_layers"))),
    ("context_length", Count, Made(|settings| searched(settings, "max_position_embeddings"))),
    ("embedding_length", Count, Made(|settings| searched(settings, "hidden_size"))),
    (EPSILON, Number, Made(|settings| searched(settings, "rms_norm_eps"))),
    ("attention.key_length", Count, Made(share)),
    ("attention.value_length", Count, Made(share)),
];

const KEYS: &[KeyRow] = &[
    FILE_TYPE,
    ("attention.head_count_kv", Counts, Made(|settings| seven(settings, LISTED))),
    VOCABULARY,
    ("rope.dimension_count", Count, Made(|settings| settings.head_width().map(Json::from))),
];

const EPSILON: &str = "attention.layer_norm_rms_epsilon";
const LISTED: &str = "num_key_value_heads_per_layer";

fn layers(settings: &Settings) -> Option<&Vec<Json>> {
    settings.find(&["block_configs"])?.as_array()
}

fn seven(settings: &Settings, key: &str) -> Option<Json> {
    settings.find(&[key]).filter(|_| layers(settings).is_none()).cloned()
}

fn searched(settings: &Settings, key: &str) -> Option<Json> {
    settings.find(&[key]).filter(|_| layers(settings).is_some()).cloned()
}

fn base(settings: &Settings, is_searched: bool) -> Option<Json> {
    let is_it = layers(settings).is_some() == is_searched;
    settings.rope(&["rope_theta"]).filter(|_| is_it).cloned()
}

fn share(settings: &Settings) -> Option<Json> {
    layers(settings)?;
    settings.head_share().map(Json::from)
}

fn per_layer(settings: &Settings, of: fn(&Settings, &Json) -> Option<u64>) -> Option<Json> {
    let all = layers(settings)?.iter().map(|layer| of(settings, layer).map(Json::from));
    // A layer that says nothing understandable is refused where a number is to be.
    Some(all.map(Option::unwrap_or_default).collect())
}

/// Key heads of a layer; none where it has no attention.
fn key_heads(settings: &Settings, layer: &Json) -> Option<u64> {
    match &layer["attention"]["n_heads_in_group"] {
        Json::Null => Some(0),
        group => settings.count("num_attention_heads")?.checked_div(group.as_u64()?),
    }
}

/// Heads of a layer; none where it has neither attention nor what replaces it.
fn heads(settings: &Settings, layer: &Json) -> Option<u64> {
    let attention = &layer["attention"];
    let is_there =
        !attention["n_heads_in_group"].is_null() || attention["replace_with_linear"] == true;
    if is_there { settings.count("num_attention_heads") } else { Some(0) }
}

/// The inner size of a layer: two thirds of a multiple of the width, rounded up to a multiple of 256.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Rounded down, as Python does.
fn inner_size(settings: &Settings, layer: &Json) -> Option<u64> {
    let factor = match &layer["ffn"]["ffn_mult"] {
        Json::Null => 0.0,
        factor => factor.as_f64()?,
    };
    let size = (2.0 * factor * settings.count("hidden_size")? as f64 / 3.0) as u64;
    size.checked_next_multiple_of(256)
}
