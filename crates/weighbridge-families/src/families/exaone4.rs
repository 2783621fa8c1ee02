//! EXAONE 4.

use super::family::*;

pub(super) const EXAONE4: Family = Family {
    architecture: "exaone4",
    classes: &["Exaone4ForCausalLM"],
    types: &["exaone4"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, NORMS_AFTER, NEXTN],
    predicts: true,
    counts_next: Some(NEXT),
    keys: &[BASE, KEYS],
    computed: llama3_factors,
    refuse: refuse_shared,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "llama3"],
    defaults: Some(Defaults {
        sizes: [102400, 4096, 16384, 32, 32, 2048],
        key_heads: KeyHeads::Of(32),
        epsilon: ("rms_norm_eps", 1e-5),
        more: &[("sliding_window", 4096.0)],
        ..DEFAULTS
    }),
    back: Some(Back {
        is: |told| told.own("nextn_predict_layers").is_none(),
        made: &[("block_count", "num_hidden_layers")],
        fixed: &[("sliding_window", window), ("layer_types", kinds)],
        untold: &[("sliding_window_pattern", "4")],
        ..BACK
    }),
    ..DECODER
};

const NEXT: &str = "num_nextn_predict_layers";
pub(super) const PATTERN: &str = "attention.sliding_window_pattern";

const RULES: &[Rule] = &[
    SILU,
    differs(
        &["sliding_window", "sliding_window_pattern", "layer_types"],
        |case, window| off(case, window) == (case.layers() != LAYERS_WITH_WINDOWS),
        "gives models of 64 layers windows, and rotary positions in these layers alone; others see everything",
    ),
    fails(
        &["head_dim"],
        |case, width| width.is_null() || width.as_u64() == case.settings.head_share(),
        "heads of this family are hidden_size / num_attention_heads wide",
    ),
    NO_ATTENTION_BIAS,
    NO_MLP_BIAS,
    free(&["mtp_share_layers", "mtp_loss_weight"]),
];

/// By the number of its layers llama.cpp knows a model with windows.
const LAYERS_WITH_WINDOWS: u64 = 64;

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    VOCABULARY,
    ("attention.sliding_window", Count, Any(&["sliding_window"])),
    (PATTERN, FlagList, Made(windows)),
    ("nextn_predict_layers", Count, Made(|settings| nonzero(settings, NEXT))),
];

/// Which layers have a window: those that the config lists, or that the letters of a pattern say
/// (`LLLG`), or all but every so many.
pub(super) fn windows(settings: &Settings) -> Option<Json> {
    settings.find(&["sliding_window"])?;
    if let Some(kinds) = listed_layers(settings).filter(|kinds| kinds.len() as u64 <= MOST_LAYERS) {
        return Some(kinds.iter().map(|kind| kind == "sliding_attention").collect());
    }
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let stated = settings.find(&["sliding_window_pattern"]);
    let letters = stated.and_then(Json::as_str).map(str::as_bytes).unwrap_or_default();
    let period = stated.map_or(Some(4), Json::as_u64).filter(|period| *period > 0);
    let has_window = |layer: u64| match letters.is_empty() {
        false => usize::try_from(layer).ok().map(|at| letters[at % letters.len()] == b'L'),
        true => period.map(|period| !(layer + 1).is_multiple_of(period)),
    };
    (0..layers).map(has_window).collect::<Option<Vec<bool>>>().map(Json::from)
}

/// Layers that share their weights would stand in the file several times.
fn refuse_shared(settings: &Settings, _: &About<'_>) -> Result<()> {
    let is_shared = settings.find(&["mtp_share_layers"]).is_some_and(|shares| *shares == true);
    if is_shared && settings.count(NEXT).unwrap_or(0) > 1 {
        return Err(not_yet("next-token prediction layers that share weights"));
    }
    Ok(())
}

/// The window of a file that states none.
fn window(told: &Told<'_>, _: &Config) -> Option<Json> {
    let is_stated = told.own("attention.sliding_window").is_some();
    let has_windows = told.own("block_count")?.as_u64() == Some(LAYERS_WITH_WINDOWS);
    (!is_stated).then(|| if has_windows { 4096.into() } else { Json::Null })
}

/// The class cannot tell the layers of a model without a window.
fn kinds(told: &Told<'_>, config: &Config) -> Option<Json> {
    if told.own(PATTERN).is_some() {
        return layers_with_windows(told, config);
    }
    let layers = told.own("block_count")?.as_u64().filter(|layers| *layers <= MOST_LAYERS)?;
    let has_windows = config.get("sliding_window").is_some_and(|window| !window.is_null());
    let kind = |layer: u64| match has_windows && !layer.is_multiple_of(4) {
        true => "sliding_attention",
        false => "full_attention",
    };
    Some((1..=layers).map(kind).collect())
}
