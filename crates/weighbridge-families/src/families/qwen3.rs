//! Qwen 3.

use super::family::*;

pub(super) const QWEN3: Family = Family {
    architecture: "qwen3",
    classes: &["Qwen3ForCausalLM", "Qwen3Model"],
    types: &["qwen3"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS],
    keys: &[BASE, &[POOLING]],
    refuse: refuse_rerankers,
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [151936, 4096, 22016, 32, 32, 32768],
        key_heads: KeyHeads::Of(32),
        head: Head::Of(128),
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PiecesOrPairs,
    back: Some(Back {
        flags: ATTENTION_BIAS,
        untold: &[
            NO_WINDOWS,
            ("sliding_window", "null"),
            ("layer_types", "full_attention in every layer"),
        ],
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[SILU, SEES_ALL, NO_ATTENTION_BIAS];

/// Rerankers say what they are in a name or a title only.
fn refuse_rerankers(settings: &Settings, about: &About<'_>) -> Result<()> {
    let named = settings.find(&["_name_or_path"]).and_then(Json::as_str).unwrap_or_default();
    let is_reranker = |text: &str| text.to_lowercase().contains("qwen3-reranker");
    let titled = about.card.is_some_and(|card| card.to_lowercase().contains("# qwen3-reranker"));
    if titled || is_reranker(about.folder) || is_reranker(named) {
        return Err(not_yet("rerankers, whose output head is cut from the vocabulary,"));
    }
    Ok(())
}
