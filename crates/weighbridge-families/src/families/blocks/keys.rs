//! Entries that the files of most families have, and where their values are.

use serde_json::Value as Json;

use Get::{Any, FileType, Made, Needed, Rope, Yarn};
use Type::{Count, CountOrCounts, Counts, Flag, Number, Text};

use super::rope::{scaling, scaling_factor, sections, yarn_factor};
use crate::error::Error;
use crate::families::settings::Settings;

/// By what name settings have what is said of generation, in a file of its own.
pub(crate) const GENERATION: &str = " generation";

/// The end of a key (or all of a key of no architecture), its type, and where its value is.
pub(crate) type KeyRow = (&'static str, Type, Get);

/// The type of an entry.
#[derive(Clone, Copy)]
pub(crate) enum Type {
    /// A number of 32 bits without a sign.
    Count,
    /// The same, or a number of 32 bits for each layer.
    CountOrCounts,
    /// A single-precision number.
    Number,
    /// Text.
    Text,
    /// Several texts.
    Texts,
    /// A truth value.
    Flag,
    /// A truth value a layer.
    FlagList,
    /// Numbers of 32 bits.
    Counts,
    /// Single-precision numbers.
    Numbers,
    /// Numbers as the first of them is written: whole ones of 32 bits, or single-precision ones.
    Listed,
}

/// Where a value is.
#[derive(Clone, Copy)]
pub(crate) enum Get {
    /// The first of these keys that the config has, if that is not null.
    Any(&'static [&'static str]),
    /// The first of these keys that the config has; a model without them is rejected.
    Needed(&'static [&'static str]),
    /// A rotary parameter.
    Rope(&'static [&'static str]),
    /// A rotary parameter of models scaled by YaRN.
    Yarn(&'static [&'static str]),
    /// What follows from several values.
    Made(fn(&Settings) -> Option<Json>),
    /// What follows from this key and others; a model without it is refused.
    MadeOf(&'static str, fn(&Settings) -> Option<Json>),
    /// The number of the file's type.
    FileType,
}

pub(crate) const LAYERS: &[&str] = &["n_layers", "num_hidden_layers", "n_layer", "num_layers"];
pub(crate) const CONTEXT: &[&str] = &[
    "max_position_embeddings",
    "n_ctx",
    "n_positions",
    "max_length",
    "max_sequence_length",
    "model_max_length",
];
pub(crate) const INNER: &[&str] = &[
    "prefix_dense_intermediate_size",
    "dense_intermediate_size",
    "intermediate_size",
    "n_inner",
    "hidden_dim",
];
pub(crate) const ORIGINAL: &[&str] = &["original_max_position_embeddings"];

const EPSILON: &[&str] = &["layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"];
const EXPERTS_USED: &[&str] = &["num_experts_per_tok", "num_experts_per_token", "top_k_experts"];
#[rustfmt::skip]
const GATING: &[&str] = &[
    "score_function", "scoring_func", "score_func", "moe_router_activation",
    "moe_router_activation_func", "expert_selection_fn",
];

/// What most files have.
pub(crate) const BASE: &[KeyRow] = &[
    ("block_count", Count, Needed(LAYERS)),
    ("context_length", Count, Any(CONTEXT)),
    ("embedding_length", Count, Any(&["hidden_size", "n_embd", "dim"])),
    ("feed_forward_length", CountOrCounts, Any(INNER)),
    ("attention.head_count", Count, Any(&["num_attention_heads", "n_head", "n_heads"])),
    ("attention.head_count_kv", Count, Any(&["num_key_value_heads", "n_kv_heads"])),
    ("attention.causal", Flag, Made(not_causal)),
    ("rope.scaling.type", Text, Made(|settings| scaling(settings).map(Json::from))),
    ("rope.scaling.factor", Number, Made(scaling_factor)),
    ("rope.scaling.original_context_length", Count, Yarn(ORIGINAL)),
    ("rope.scaling.yarn_ext_factor", Number, Yarn(&["extrapolation_factor"])),
    ("rope.scaling.yarn_attn_factor", Number, Yarn(&["attention_factor", "attn_factor"])),
    ("rope.scaling.yarn_beta_fast", Number, Yarn(&["beta_fast"])),
    ("rope.scaling.yarn_beta_slow", Number, Yarn(&["beta_slow"])),
    ("rope.scaling.attn_factor", Number, Made(yarn_factor)),
    ("rope.dimension_sections", Counts, Made(sections)),
    ("rope.freq_base", Number, Rope(&["rope_theta"])),
    ("rope.freq_base_swa", Number, Made(|settings| settings.local_theta().cloned())),
    RMS,
    ("attention.layer_norm_epsilon", Number, Any(EPSILON)),
    ("expert_count", Count, Any(&["num_local_experts", "num_experts", "n_routed_experts"])),
    ("expert_used_count", Count, Any(EXPERTS_USED)),
    ("expert_group_count", Count, Any(&["n_group"])),
    ("expert_group_used_count", Count, Any(&["topk_group"])),
    ("expert_gating_func", Count, Made(gating)),
    KEY_LENGTH,
    VALUE_LENGTH,
    FILE_TYPE,
];

pub(crate) const RMS: KeyRow =
    ("attention.layer_norm_rms_epsilon", Number, Any(&["rms_norm_eps", "norm_eps"]));
pub(crate) const KEY_LENGTH: KeyRow = ("attention.key_length", Count, Any(&["head_dim"]));
pub(crate) const VALUE_LENGTH: KeyRow = ("attention.value_length", Count, Any(&["head_dim"]));
pub(crate) const FILE_TYPE: KeyRow = ("general.file_type", Count, FileType);
pub(crate) const VOCABULARY: KeyRow = ("vocab_size", Count, Needed(&["vocab_size"]));
pub(crate) const WINDOW: KeyRow = ("attention.sliding_window", Count, Needed(&["sliding_window"]));
pub(crate) const LOGIT_SCALE: KeyRow = ("logit_scale", Number, Needed(&["logit_scale"]));
/// What files of some families say where nothing is scaled.
pub(crate) const SCALING_OR_NONE: KeyRow = ("rope.scaling.type", Text, Made(scaling_or_none));

pub(crate) const ROTARY: &[KeyRow] = &[
    VOCABULARY,
    ("rope.dimension_count", Count, Made(|settings| settings.head_width().map(Json::from))),
];
/// Rotary positions of families whose files say nothing of them, where llama.cpp would take another
/// base or no scaling for granted. The converter leaves these out; llama.cpp reads them.
pub(crate) const UNUSUAL_ROPE: &[KeyRow] = &[
    ("rope.freq_base", Number, Made(unusual_base)),
    ("rope.scaling.type", Text, Made(|settings| scaling(settings).map(Json::from))),
    ("rope.scaling.factor", Number, Made(scaling_factor)),
    ("rope.scaling.original_context_length", Count, Yarn(ORIGINAL)),
    ("rope.scaling.attn_factor", Number, Made(yarn_factor)),
];

pub(crate) fn unusual_base(settings: &Settings) -> Option<Json> {
    settings.rope(&["rope_theta"]).filter(|base| base.as_f64() != Some(10000.0)).cloned()
}

pub(crate) const EXPERT_LENGTHS: &[KeyRow] = &[
    ("expert_feed_forward_length", Count, Any(&["moe_intermediate_size"])),
    ("expert_shared_feed_forward_length", Count, Any(&["shared_expert_intermediate_size"])),
];

/// False where attention looks ahead.
pub(crate) fn not_causal(settings: &Settings) -> Option<Json> {
    settings.find(&["is_causal"]).filter(|causal| causal.as_bool() == Some(false)).cloned()
}

/// The number of the function that chooses experts.
pub(crate) fn gating(settings: &Settings) -> Option<Json> {
    let name = settings.find(GATING)?;
    Some(match name.as_str() {
        Some("softmax") => 1.into(),
        // Sigmoids with a bias, in the words of dots.llm1.
        Some("sigmoid" | "noaux_tc") => 2.into(),
        Some("sqrtsoftplus") => 4.into(),
        // No number, and so refused where it is to be one.
        _ => name.clone(),
    })
}

fn scaling_or_none(settings: &Settings) -> Option<Json> {
    Some(scaling(settings).unwrap_or_else(|| "none".to_owned()).into())
}

/// A number, unless it is zero.
pub(crate) fn nonzero(settings: &Settings, key: &str) -> Option<Json> {
    settings.find(&[key]).filter(|value| value.as_f64() != Some(0.0)).cloned()
}

/// A number, or zero where the config has none.
pub(crate) fn or_zero(settings: &Settings, key: &str) -> Option<Json> {
    Some(settings.find(&[key]).cloned().unwrap_or(0.into()))
}

/// All layers, with those that predict further tokens.
pub(crate) fn layers_and_next(settings: &Settings) -> Option<Json> {
    let next = settings.count("num_nextn_predict_layers").unwrap_or(0);
    settings.count("num_hidden_layers")?.checked_add(next).map(Json::from)
}

pub(crate) fn listed_layers(settings: &Settings) -> Option<&Vec<Json>> {
    settings.find(&["layer_types"]).and_then(Json::as_array)
}

/// More layers than any model has: a config may state any number.
pub(crate) const MOST_LAYERS: u64 = 1 << 12;

/// The refusal of a model that is converted in a way of its own.
pub(crate) fn not_yet(what: &str) -> Error {
    Error::unsupported(format!("{what} cannot be converted to GGUF yet"))
}
