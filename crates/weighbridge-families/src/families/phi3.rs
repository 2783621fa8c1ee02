//! Phi-3, and Phi-4, which has another tokenizer and no window.

use super::family::*;

pub(super) const PHI3: Family = Family {
    architecture: "phi3",
    classes: &["Phi3ForCausalLM", "Phi4ForCausalLMV"],
    types: &["phi3"],
    rows: &[TRUNK, ATTENTION, FUSED_MLP, TWO_NORMS],
    early: &[("rope.scaling.attn_factor", Number, Made(attention_factor))],
    keys: &[KEYS],
    computed: long_factors,
    rules: &[RULES, ROPE],
    scalings: &["longrope"],
    defaults: Some(Defaults {
        sizes: [32064, 3072, 8192, 32, 32, 4096],
        epsilon: ("rms_norm_eps", 1e-5),
        rotated: Some(1.0),
        original_context: Some(4096),
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::Phi3,
    back: Some(Back {
        made: &[("attention.sliding_window", "sliding_window")],
        rotated: Some("partial_rotary_factor"),
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[SILU, NO_WINDOW, HEADS_SHARE_FUSED];

pub(super) const KEYS: &[KeyRow] = &[
    ("context_length", Count, Needed(&["n_positions", "max_position_embeddings"])),
    ("rope.scaling.original_context_length", Count, Rope(ORIGINAL)),
    ("embedding_length", Count, Needed(&["hidden_size", "n_embd"])),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.head_count", Count, Needed(&["num_attention_heads", "n_head"])),
    ("attention.head_count_kv", Count, Needed(&["num_key_value_heads", "n_head_kv"])),
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["rms_norm_eps"])),
    ("rope.dimension_count", Count, Made(rotated_hidden)),
    ("rope.freq_base", Number, Rope(&["rope_theta"])),
    FILE_TYPE,
    // Zero tells Phi-4 from its forebears.
    ("attention.sliding_window", Count, Made(|settings| or_zero(settings, "sliding_window"))),
];

/// What attention is multiplied by in contexts longer than those of the training.
fn attention_factor(settings: &Settings) -> Option<Json> {
    settings.rope(&["long_factor"])?;
    let number = |key: &str| settings.rope(&[key]).and_then(Json::as_f64);
    if let Some(stated) = number("attention_factor") {
        return Some(stated.into());
    }
    let original = number("original_max_position_embeddings")?;
    let context = settings.count("max_position_embeddings")? as f64;
    let scale = number("factor").unwrap_or(context / original);
    let factor = if scale > 1.0 { (1.0 + scale.ln() / original.ln()).sqrt() } else { 1.0 };
    Some(factor.into())
}

/// Heads that are not as wide as the hidden size makes them.
const HEADS_SHARE_FUSED: Rule = fails(
    &["head_dim"],
    |case, width| width.is_null() || width.as_u64() == case.settings.head_share(),
    "heads of this family are hidden_size / num_attention_heads wide",
);
