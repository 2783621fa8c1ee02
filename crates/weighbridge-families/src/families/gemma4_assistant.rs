//! Gemma 4's assistant, which drafts tokens for a larger model and has no keys and values of its own.

use super::family::*;
use super::gemma4::{GEMMA4, KEYS, ROWS, RULES};

pub(super) const GEMMA4_ASSISTANT: Family = Family {
    architecture: "gemma4-assistant",
    classes: &["Gemma4AssistantForCausalLM", "Gemma4UnifiedAssistantForCausalLM"],
    types: &["gemma4_assistant", "gemma4_unified_assistant"],
    prefix: "model.",
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, FOUR_NORMS, ROWS, PROJECTIONS],
    left_out: &[("/masked_embedding.", "an index of the embedding, which llama.cpp does not use")],
    keys: &[BASE, KEYS, OWN_KEYS],
    rules: &[OWN_RULES, RULES, ROPE],
    defaults: None,
    ..GEMMA4
};

const OWN_RULES: &[Rule] = &[
    differs(&["use_ordered_embeddings"], off, "looks at every token, not only at likely ones"),
    free(&["num_centroids", "centroid_intermediate_top_k"]),
];

const PROJECTIONS: &[Row] = &[
    ("/pre_projection", &["nextn.pre_projection"], Plain),
    ("/post_projection", &["nextn.post_projection"], Plain),
];

const OWN_KEYS: &[KeyRow] = &[
    ("attention.shared_kv_layers", Count, Made(all_layers_unless_said)),
    (
        "embedding_length_out",
        Count,
        Made(|settings| {
            Some(settings.find(&["backbone_hidden_size"]).cloned().unwrap_or(1536.into()))
        }),
    ),
    ("nextn_predict_layers", Count, Any(LAYERS)),
];

/// Every layer takes its keys and values from the larger model.
fn all_layers_unless_said(settings: &Settings) -> Option<Json> {
    let stated = nonzero(settings, "num_kv_shared_layers");
    stated.or_else(|| settings.find(&["num_hidden_layers"]).cloned())
}
