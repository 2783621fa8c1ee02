//! PLaMo 3, with sliding windows in most layers.

use super::family::*;

pub(super) const PLAMO3: Family = Family {
    architecture: "plamo3",
    classes: &["Plamo3ForCausalLM", "PLaMo3ForCausalLM"],
    types: &["plamo3"],
    rows: &[PLAMO_ROWS, ROWS],
    gguf: &[],
    tied: true,
    keys: &[BASE, KEYS],
    refuse: check,
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::Plamo { templates: true },
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    free(&["image_feature_size", "image_proj_type", "linear_type", "rope_local_theta"]),
    free(&["eval_attention_n_bit", "eval_mlp_n_bit", "fp8_accum_dtype", "use_cache"]),
];

const ROWS: &[Row] = &[
    ("layers.layers.#.mixer.q_norm", &["blk.#.attn_q_norm"], PLUS_ONE),
    ("layers.layers.#.mixer.k_norm", &["blk.#.attn_k_norm"], PLUS_ONE),
];

const WINDOW_KEYS: &[&str] = &["window_size", "sliding_window"];
const PATTERN: &str = "attention.sliding_window_pattern";

const KEYS: &[KeyRow] = &[
    VOCABULARY,
    ("attention.sliding_window", Count, Any(WINDOW_KEYS)),
    (PATTERN, Count, Made(|settings| pattern(settings).filter(Json::is_number))),
    (PATTERN, FlagList, Made(|settings| pattern(settings).filter(Json::is_array))),
];

fn pattern(settings: &Settings) -> Option<Json> {
    settings.find(WINDOW_KEYS)?;
    settings.find(&["sliding_window_pattern"]).cloned()
}

/// Refuses what the converter makes other scaling of, and windows without a pattern.
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    let factor = settings.find(&["rope_scaling_factor"]).and_then(Json::as_f64);
    if factor.is_some_and(|factor| factor != 1.0) {
        return Err(not_yet("models of PLaMo 3 with `rope_scaling_factor`"));
    }
    if settings.find(WINDOW_KEYS).is_some() && pattern(settings).is_none() {
        return Err(Error::malformed("config.json has no `sliding_window_pattern`"));
    }
    Ok(())
}
