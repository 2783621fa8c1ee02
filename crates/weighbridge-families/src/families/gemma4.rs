//! Gemma 4: layers of two widths, shared keys and values, embeddings for each layer, and experts.

use super::family::*;
use super::gemma3::GEMMA3;

pub(super) const GEMMA4: Family = Family {
    architecture: "gemma4",
    classes: &["Gemma4ForConditionalGeneration", "Gemma4ForCausalLM"],
    types: &["gemma4_text", "gemma4"],
    prefix: "model.language_model.",
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, FOUR_NORMS, ROWS],
    norm_add: 0.0,
    keys: &[BASE, KEYS],
    computed: rotated_part,
    refuse: refuse_uneven_layers,
    rules: &[RULES, ROPE],
    scalings: &["proportional"],
    defaults: Some(Defaults {
        sizes: [262144, 2304, 9216, 30, 8, 131072],
        key_heads: KeyHeads::Of(4),
        head: Head::Of(256),
        theta: 1000000.0,
        local_theta: Some(10000.0),
        scaling: Some(("proportional", &[("partial_rotary_factor", 0.25)])),
        more: &[
            ("sliding_window", 512.0),
            ("num_kv_shared_layers", 0.0),
            ("hidden_size_per_layer_input", 256.0),
        ],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::Gemma4,
    back: None,
    mlx: false,
    ..GEMMA3
};

pub(super) const RULES: &[Rule] = &[
    differs(&["hidden_activation"], gelu, "uses gelu"),
    differs(
        &["use_bidirectional_attention"],
        |case, value| off(case, value) || value == "vision",
        "looks back only",
    ),
    differs(
        &["num_kv_shared_layers"],
        shares_last,
        "shares keys of the last two layers that have them, and takes the first for one with a window",
    ),
    NO_ATTENTION_BIAS,
    UNSCALED_WINDOWS,
    free(&["hidden_act", "vocab_size_per_layer_input", "enable_moe_block", "attention_k_eq_v"]),
    free(&["global_head_dim", "num_global_key_value_heads", "per_layer_config"]),
    free(&["boa_token_id", "eoa_token_id", "eoa_token_index", "vision_soft_tokens_per_image"]),
    free(&["layer_types"]),
];

pub(super) const ROWS: &[Row] = &[
    ("layers.#.layer_scalar", &["blk.#.layer_output_scale"], Plain),
    ("embed_tokens_per_layer", &["per_layer_token_embd"], Plain),
    ("per_layer_model_projection", &["per_layer_model_proj"], Plain),
    ("per_layer_projection_norm", &["per_layer_proj_norm"], Norm),
    ("layers.#.per_layer_input_gate", &["blk.#.inp_gate"], Plain),
    ("layers.#.per_layer_projection", &["blk.#.proj"], Plain),
    ("layers.#.post_per_layer_input_norm", &["blk.#.post_norm"], Norm),
    ("layers.#.router.proj", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.router.scale", &["blk.#.ffn_gate_inp.scale"], Plain),
    ("layers.#.router.per_expert_scale", &["blk.#.ffn_down_exps.scale"], Plain),
    ("layers.#.experts.gate_up_proj", &["blk.#.ffn_gate_up_exps"], Experts),
    ("layers.#.experts.down_proj", &["blk.#.ffn_down_exps"], Experts),
    ("layers.#.post_feedforward_layernorm_1", &["blk.#.post_ffw_norm_1"], Norm),
    ("layers.#.pre_feedforward_layernorm_2", &["blk.#.pre_ffw_norm_2"], Norm),
    ("layers.#.post_feedforward_layernorm_2", &["blk.#.post_ffw_norm_2"], Norm),
];

pub(super) const KEYS: &[KeyRow] = &[
    (
        "final_logit_softcapping",
        Number,
        Made(|settings| nonzero(settings, "final_logit_softcapping")),
    ),
    WINDOW,
    ("attention.shared_kv_layers", Count, Needed(&["num_kv_shared_layers"])),
    (
        "embedding_length_per_layer_input",
        Count,
        Made(|settings| or_zero(settings, "hidden_size_per_layer_input")),
    ),
    ("attention.sliding_window_pattern", FlagList, Made(|s| windows(s).map(Json::from))),
    ("attention.key_length", Count, Made(|settings| of_full_layers(settings, WIDTH))),
    ("attention.value_length", Count, Made(|settings| of_full_layers(settings, WIDTH))),
    ("attention.key_length_swa", Count, Any(&["head_dim"])),
    ("attention.value_length_swa", Count, Any(&["head_dim"])),
    (
        "expert_feed_forward_length",
        Count,
        Any(&["expert_intermediate_size", "moe_intermediate_size"]),
    ),
    ("feed_forward_length", Counts, Made(double_widths)),
    ("attention.head_count_kv", Counts, Made(key_heads)),
    ("rope.dimension_count", Count, Made(|settings| of_full_layers(settings, WIDTH))),
    ("rope.dimension_count_swa", Count, Any(&["head_dim"])),
];

/// Which layers have a window: five of six, unless the config lists them. The last one never has.
pub(super) fn windows(settings: &Settings) -> Option<Vec<bool>> {
    let layers = settings.count("num_hidden_layers").filter(|count| *count <= MOST_LAYERS)?;
    let mut windows: Vec<bool> = match listed_layers(settings) {
        Some(kinds) => kinds.iter().map(|kind| kind == "sliding_attention").collect(),
        None => (1..=layers).map(|layer| layer % 6 != 0).collect(),
    };
    *windows.last_mut()? = false;
    Some(windows)
}

/// What layers without a window have of their own: the key for one layer, and that for all.
type OfFull = (&'static str, &'static str);

const WIDTH: OfFull = ("head_dim", "global_head_dim");
const KEY_HEADS: OfFull = ("num_key_value_heads", "num_global_key_value_heads");

/// A value of the layers without a window, if they have one of their own.
fn of_full_layers(settings: &Settings, (own, global): OfFull) -> Option<Json> {
    if let Some(layers) = settings.find(&["per_layer_config"]).and_then(Json::as_object) {
        return layers.values().find_map(|layer| layer.get(own)).cloned();
    }
    if own == WIDTH.0 {
        return Some(settings.find(&[global]).cloned().unwrap_or(512.into()));
    }
    // The class looks at it only where keys are values too.
    settings.find(&["attention_k_eq_v"]).filter(|shares| **shares == true)?;
    settings.find(&[global]).cloned()
}

/// The key heads of each layer, where those without a window have their own number.
fn key_heads(settings: &Settings) -> Option<Json> {
    let full = of_full_layers(settings, KEY_HEADS)?;
    let own = settings.find(&["num_key_value_heads"])?;
    let of = |has_window: bool| if has_window { own.clone() } else { full.clone() };
    Some(windows(settings)?.into_iter().map(of).collect())
}

/// Inner sizes: layers that share the keys of others may have twice as much.
fn double_widths(settings: &Settings) -> Option<Json> {
    settings.find(&["use_double_wide_mlp"]).filter(|is_double| **is_double == true)?;
    let layers = settings.count("num_hidden_layers").filter(|count| *count <= MOST_LAYERS)?;
    let first = layers.saturating_sub(settings.count("num_kv_shared_layers").unwrap_or(0));
    let inner = settings.count("intermediate_size")?;
    let of = |layer: u64| if layer < first { inner } else { inner.saturating_mul(2) };
    Some((0..layers).map(of).collect())
}

/// Factors of rotary frequencies: where a head is not rotated, a number that no position reaches.
fn rotated_part(settings: &Settings) -> Tensors {
    let factors = || {
        let width = of_full_layers(settings, WIDTH)?.as_u64().filter(|width| *width <= 1 << 16)?;
        let rotated = part(settings.rope(&["partial_rotary_factor"])?, width)? / 2;
        let factor = |at: u64| if at < rotated { 1.0 } else { 1e30 };
        Some((0..width / 2).map(factor).collect())
    };
    factors().into_iter().map(|factors| ("rope_freqs.weight", factors)).collect()
}

/// Whether the last two layers with keys of their own are one with a window and one without.
fn shares_last(case: &Case<'_>, shared: &Json) -> bool {
    let shared = shared.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    let windows = windows(case.settings).unwrap_or_default();
    let own = windows.len().saturating_sub(shared);
    shared == 0 || windows[..own].ends_with(&[true, false])
}

/// Files have one width of heads for layers with a window and one for the others.
pub(super) fn refuse_uneven_layers(settings: &Settings, _: &About<'_>) -> Result<()> {
    let is_all = |value: &Json| value == "all";
    if settings.find(&["use_bidirectional_attention"]).is_some_and(is_all) {
        return Err(not_yet("models of this family whose tokens all see each other"));
    }
    if settings.rope(&["rope_type"]).is_none_or(|kind| kind != "proportional") {
        return Err(not_yet("models of this family without rotary scaling of type `proportional`"));
    }
    if settings.rope(&["partial_rotary_factor"]).is_none() {
        let message = "config.json: rotary scaling states no `partial_rotary_factor`";
        return Err(Error::malformed(message));
    }
    let Some(layers) = settings.find(&["per_layer_config"]).and_then(Json::as_object) else {
        return Ok(());
    };
    let windows = windows(settings).unwrap_or_default();
    let is_full = |layer: &String| {
        layer.parse::<usize>().is_ok_and(|layer| windows.get(layer) == Some(&false))
    };
    let first = layers.values().next();
    let is_even = layers.keys().all(is_full)
        && layers.len() == windows.iter().filter(|has_window| !**has_window).count()
        && layers.values().all(|layer| Some(layer) == first && is_known(layer));
    if is_even { Ok(()) } else { Err(not_yet("models with layers of further kinds")) }
}

/// Whether a layer has a width of its own, and nothing else than files have.
fn is_known(layer: &Json) -> bool {
    let known = |key: &String| key == WIDTH.0 || key == KEY_HEADS.0;
    layer.get(WIDTH.0).is_some() && layer.as_object().is_some_and(|all| all.keys().all(known))
}
