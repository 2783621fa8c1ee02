//! Trinity, by Arcee.

use super::family::*;

pub(super) const AFMOE: Family = Family {
    architecture: "afmoe",
    classes: &["AfmoeForCausalLM"],
    types: &["afmoe"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, ROWS, EXPERTS, SHARED_EXPERTS],
    stacks: GATES_FIRST,
    keys: &[BASE, ROTARY, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [200192, 2048, 6144, 32, 16, 16384],
        head: Head::Of(128),
        epsilon: ("rms_norm_eps", 1e-5),
        more: &[
            ("moe_intermediate_size", 1408.0),
            ("num_dense_layers", 1.0),
            ("num_experts", 64.0),
            ("num_experts_per_tok", 6.0),
            ("num_shared_experts", 2.0),
            ("route_scale", 1.0),
            ("sliding_window", 1024.0),
        ],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::LlamaLike,
    back: Some(Back {
        made: &[("expert_gating_func", "score_func"), ("expert_weights_norm", "route_norm")],
        flags: ATTENTION_BIAS,
        fixed: &[
            ("score_func", function),
            ("mup_enabled", |_, _| Some(true.into())),
            ("sliding_window", no_window),
            ("layer_types", kinds),
        ],
        untold: &[
            ("mup_enabled", ""),
            ("global_attn_every_n_layers", "4"),
            ("layer_types", "full_attention in every 4th layer, sliding_attention in the others"),
        ],
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    differs(&["mup_enabled"], stated_on, "multiplies embeddings by the root of the hidden size"),
    differs(
        &["layer_types"],
        |case, _| windows(case.settings).is_none_or(|windows| is_usual(&windows)),
        "applies rotary positions to every layer but each fourth, whichever have windows",
    ),
    differs(
        &["score_func"],
        |_, function| function.is_null() || function == "sigmoid",
        "chooses experts by another function than the class",
    ),
    free(&["global_attn_every_n_layers", "load_balance_coeff", "use_grouped_mm"]),
    free(&["num_expert_groups", "num_limited_groups"]),
];

const ROWS: &[Row] = &[
    ("layers.#.self_attn.gate_proj", &["blk.#.attn_gate"], Plain),
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.post_attention_norm"], Norm),
    ("layers.#.pre_mlp_layernorm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.post_mlp_layernorm", &["blk.#.post_ffw_norm"], Norm),
    ("layers.#.mlp.router.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mlp.expert_bias", &["blk.#.exp_probs_b.bias"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("expert_shared_count", Count, Any(&["num_shared_experts"])),
    ("expert_feed_forward_length", Count, Any(&["moe_intermediate_size"])),
    ("leading_dense_block_count", Count, Any(&["num_dense_layers"])),
    // The class normalizes the weights of experts, and llama.cpp does not, where nothing is said.
    ("expert_weights_norm", Flag, Made(normalizes)),
    ("expert_weights_scale", Number, Any(&["route_scale"])),
    ("attention.sliding_window", Count, Any(&["sliding_window"])),
    ("attention.sliding_window_pattern", FlagList, Made(unusual)),
];

fn normalizes(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["route_norm"]).cloned().unwrap_or(true.into()))
}

/// Which layers have a window.
fn windows(settings: &Settings) -> Option<Vec<bool>> {
    if let Some(kinds) = listed_layers(settings).filter(|kinds| kinds.len() as u64 <= MOST_LAYERS) {
        return Some(kinds.iter().map(|kind| kind == "sliding_attention").collect());
    }
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let period = settings.count("global_attn_every_n_layers").unwrap_or(4);
    (period > 0).then(|| (1..=layers).map(|layer| layer % period != 0).collect())
}

fn is_usual(windows: &[bool]) -> bool {
    (1_u64..).zip(windows).all(|(layer, has)| (layer % 4 != 0) == *has)
}

/// The layers with a window, where they are not all but every fourth. The converter does not write
/// this; llama.cpp reads it.
fn unusual(settings: &Settings) -> Option<Json> {
    settings.find(&["sliding_window"])?;
    let windows = windows(settings)?;
    (!is_usual(&windows) && windows.contains(&true)).then(|| windows.into())
}

/// The function that chooses experts, where a file states it.
fn function(told: &Told<'_>, _: &Config) -> Option<Json> {
    match told.own("expert_gating_func")?.as_u64()? {
        1 => Some("softmax".into()),
        2 => Some("sigmoid".into()),
        _ => None,
    }
}

fn no_window(told: &Told<'_>, _: &Config) -> Option<Json> {
    told.own("attention.sliding_window").is_none().then_some(Json::Null)
}

/// The class takes windows for granted.
fn kinds(told: &Told<'_>, config: &Config) -> Option<Json> {
    if no_window(told, config).is_none() {
        return layers_with_windows(told, config);
    }
    let layers = told.own("block_count")?.as_u64().filter(|layers| *layers <= MOST_LAYERS)?;
    Some((0..layers).map(|_| "full_attention").collect())
}
