//! Jais: GPT-2 with gates, slopes of attention, and a factor for its embedding and its output.

use super::family::*;

pub(super) const JAIS: Family = Family {
    architecture: "jais",
    classes: &["JAISLMHeadModel"],
    types: &["jais"],
    prefix: "transformer.",
    rows: &[ROWS],
    gguf: &[GGUF],
    left_out: &[
        ("h.#.attn.bias", "attention mask, the same in all models"),
        ("h.#.attn.masked_bias", "attention mask constant"),
    ],
    measured: &[("relative_pe.slopes", SLOPES)],
    early: &[("attention.max_alibi_bias", Number, Made(steepest))],
    keys: &[KEYS],
    refuse: check,
    rules: &[RULES],
    scalings: &[],
    mlx: false,
    ..DECODER
};

/// The setting that the slopes of attention are.
const SLOPES: &str = " slopes";

const RULES: &[Rule] = &[
    NEEDS_HEAD,
    differs(
        &["mup_scale_qk_dot_by_d", "scale_qk_dot_by_d"],
        |case, _| {
            let keys = ["mup_scale_qk_dot_by_d", "scale_qk_dot_by_d"];
            keys.iter().any(|key| case.value(key) == true)
        },
        "divides queries by the width of a head",
    ),
    differs(&["alibi_scaling"], |_, scaling| scaling.is_null(), "does not scale slopes"),
    differs(&["scale_attn_weights"], on, "divides queries by the width of a head"),
    differs(&["scale_attn_by_inverse_layer_idx"], off, "scales all layers alike"),
    free(&["reorder_and_upcast_attn", "activation_function", "position_embedding_type"]),
    free(&["mup_embeddings_scale", "embeddings_scale", "mup_output_alpha", "mup_width_scale"]),
    free(&["width_scale", "summary_activation", "summary_proj_to_labels", "summary_type"]),
    free(&["summary_use_proj", "scale_qk_dot_by_d"]),
];

const ROWS: &[Row] = &[
    ("wte", &["token_embd"], Own(Lay(scaled_embedding))),
    ("ln_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Own(Lay(scaled_output))),
    ("h.#.ln_1", &["blk.#.attn_norm"], Norm),
    ("h.#.attn.c_attn", &["blk.#.attn_qkv"], Transposed),
    ("h.#.attn.c_proj", &["blk.#.attn_output"], Transposed),
    ("h.#.ln_2", &["blk.#.ffn_norm"], Norm),
    ("h.#.mlp.c_fc", &["blk.#.ffn_up"], Transposed),
    ("h.#.mlp.c_fc2", &["blk.#.ffn_gate"], Transposed),
    ("h.#.mlp.c_proj", &["blk.#.ffn_down"], Transposed),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Needed(LAYERS)),
    ("context_length", Count, Needed(&["n_positions"])),
    ("embedding_length", Count, Needed(&["n_embd"])),
    ("feed_forward_length", Count, Needed(&["n_inner"])),
    ("attention.head_count", Count, Needed(&["n_head"])),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_epsilon"])),
    FILE_TYPE,
];

fn number(settings: &Settings, keys: &[&str]) -> Option<f64> {
    settings.find(keys).and_then(Json::as_f64)
}

fn embedding_scale(settings: &Settings) -> Option<f64> {
    number(settings, &["mup_embeddings_scale", "embeddings_scale"])
}

fn output_scale(settings: &Settings) -> Option<f64> {
    match number(settings, &["mup_output_alpha"]) {
        Some(alpha) => Some(alpha * number(settings, &["mup_width_scale"])?),
        None => number(settings, &["width_scale"]),
    }
}

fn scaled_embedding(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    Some(times(embedding_scale(settings)?, shape))
}

fn scaled_output(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    Some(times(output_scale(settings)?, shape))
}

#[allow(clippy::cast_possible_truncation)] // The product is one of f32.
fn times(factor: f64, shape: &[u64]) -> Vec<Laid> {
    let view = View { change: Change::Times(factor as f32), ..View::whole(shape) };
    Laid::whole(view, format!("times {factor}"))
}

/// How steep the first slope is: two to the power of minus this, shared by so many heads as there are
/// in the largest power of two. Eight where no weight has the slopes.
fn steepest(settings: &Settings) -> Option<Json> {
    let first = settings.find(&[SLOPES]).and_then(|slopes| slopes[0].as_f64());
    let (Some(first), Some(heads)) = (first, settings.count("n_head").filter(|n| *n > 0)) else {
        return Some(8.0.into());
    };
    let heads = (1_u64 << heads.ilog2()) as f64;
    Some((-(first.log2() * heads).round_ties_even()).into())
}

/// Refuses what llama.cpp has no words for, and a config without the factors.
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    let is = |key: &str, name: &str| settings.find(&[key]).is_some_and(|value| *value == name);
    if !is("activation_function", "swiglu") || !is("position_embedding_type", "alibi") {
        return Err(not_yet("Jais models without `swiglu` and `alibi`"));
    }
    let missing = |key: &str| Err(Error::malformed(format!("config.json has no `{key}`")));
    match (embedding_scale(settings), output_scale(settings)) {
        (None, _) => missing("embeddings_scale"),
        (_, None) => missing("width_scale"),
        _ => Ok(()),
    }
}
