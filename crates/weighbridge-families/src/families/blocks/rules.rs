//! What llama.cpp takes for granted where a config may say otherwise.
//!
//! Every key of a config is written, is bound by a rule, or is reported. The rules follow runs of
//! llama.cpp beside transformers (`oracles/check_settings.py`).

use serde_json::Value as Json;

use crate::families::settings::Settings;

/// What is asked of some keys of a config.
pub(crate) struct Rule {
    /// The keys, by the names that [`Settings::all`] gives them. The first is reported.
    pub keys: &'static [&'static str],
    /// What follows if the rule does not hold.
    pub otherwise: Otherwise,
    /// Whether a value is what llama.cpp assumes; null where the config has none.
    pub holds: fn(&Case<'_>, &Json) -> bool,
    /// What llama.cpp does, or what it lacks.
    pub says: &'static str,
}

/// What follows if a rule does not hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Otherwise {
    /// The file runs and says something else.
    Differs,
    /// The file does not load.
    Fails,
}

/// A model that rules are applied to.
pub(crate) struct Case<'a> {
    /// The kinds of scaling of rotary positions that files of the family carry.
    pub scalings: &'a [&'a str],
    pub settings: &'a Settings,
    /// The names of the tensors of the file.
    pub tensors: &'a [&'a str],
}

impl Case<'_> {
    /// Whether any tensor's name ends so.
    pub fn has(&self, end: &str) -> bool {
        self.tensors.iter().any(|name| name.ends_with(end))
    }

    /// A value of the config; null where it has none.
    pub fn value(&self, key: &str) -> Json {
        self.settings.named(key)
    }

    /// Whether a number reaches the context of the model.
    pub fn is_beyond_context(&self, length: &Json) -> bool {
        let context = self.settings.find(super::CONTEXT).and_then(Json::as_f64);
        length.as_f64().zip(context).is_some_and(|(length, context)| length >= context)
    }

    /// The number of layers.
    pub fn layers(&self) -> u64 {
        self.settings.count("num_hidden_layers").unwrap_or(0)
    }

    /// The kinds of layers that the config lists.
    pub fn kinds(&self) -> Option<Vec<Json>> {
        self.settings.find(&["layer_types"]).and_then(Json::as_array).cloned()
    }
}

/// Keys that change nothing.
pub(crate) const fn free(keys: &'static [&'static str]) -> Rule {
    Rule { keys, otherwise: Otherwise::Differs, holds: |_, _| true, says: "" }
}

/// A key that changes the results, unless it has the value that llama.cpp assumes.
pub(crate) const fn differs(
    keys: &'static [&'static str],
    holds: fn(&Case<'_>, &Json) -> bool,
    says: &'static str,
) -> Rule {
    Rule { keys, otherwise: Otherwise::Differs, holds, says }
}

/// A key with which a file does not load, unless it has the value that llama.cpp assumes.
pub(crate) const fn fails(
    keys: &'static [&'static str],
    holds: fn(&Case<'_>, &Json) -> bool,
    says: &'static str,
) -> Rule {
    Rule { keys, otherwise: Otherwise::Fails, holds, says }
}

/// Null, false, zero or empty.
pub(crate) fn off(_: &Case<'_>, value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(is_on) => !is_on,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// True, or not stated.
pub(crate) fn on(_: &Case<'_>, value: &Json) -> bool {
    value.is_null() || *value == true
}

/// True, and stated.
pub(crate) fn stated_on(_: &Case<'_>, value: &Json) -> bool {
    *value == true
}

/// One, or not stated.
pub(crate) fn is_one(_: &Case<'_>, value: &Json) -> bool {
    is_number(value, 1.0)
}

pub(crate) fn silu(_: &Case<'_>, value: &Json) -> bool {
    value.is_null() || value == "silu" || value == "swish"
}

/// Any kind of GELU: they differ by less than the precision of what follows.
pub(crate) fn gelu(_: &Case<'_>, value: &Json) -> bool {
    value.as_str().is_none_or(|name| name.starts_with("gelu"))
}

pub(crate) const SILU: Rule = differs(&["hidden_act"], silu, "uses silu");
pub(crate) const GELU: Rule = differs(&["hidden_act"], gelu, "uses gelu");

/// A window that every layer has, where llama.cpp has none.
pub(crate) const NO_WINDOW: Rule = differs(
    &["sliding_window"],
    |case, window| off(case, window) || case.is_beyond_context(window),
    "lets every layer see the whole text, beyond the window too",
);

/// A window that some layers have, where llama.cpp has none.
pub(crate) const SEES_ALL: Rule = differs(
    &["use_sliding_window", "sliding_window", "max_window_layers", "layer_types"],
    uses_no_window,
    "lets every layer see the whole text, beyond the window too",
);

fn uses_no_window(case: &Case<'_>, is_used: &Json) -> bool {
    let window = case.value("sliding_window");
    if off(case, is_used) || off(case, &window) || case.is_beyond_context(&window) {
        return true;
    }
    match case.kinds() {
        Some(kinds) => kinds.iter().all(|kind| kind != "sliding_attention"),
        None => case.settings.count("max_window_layers").unwrap_or(28) >= case.layers(),
    }
}

/// Heads that are not as wide as the hidden size makes them.
pub(crate) const HEADS_SHARE: Rule = fails(
    &["head_dim"],
    |case, width| {
        width.is_null()
            || width.as_u64() == case.settings.head_share()
            || !case.has("attn_q.weight")
    },
    "heads of this family are hidden_size / num_attention_heads wide",
);

/// Biases of attention, which llama.cpp has no tensors for.
pub(crate) const NO_ATTENTION_BIAS: Rule = fails(
    &["attention_bias"],
    |case, _| !case.has(".attn_q.bias") && !case.has(".attn_output.bias"),
    "it has no attention biases in this family",
);

/// Biases of feed-forward layers, which llama.cpp has no tensors for.
pub(crate) const NO_MLP_BIAS: Rule = fails(
    &["mlp_bias"],
    |case, _| !case.has(".ffn_up.bias") && !case.has(".ffn_down.bias"),
    "it has no feed-forward biases in this family",
);

/// An output head of its own, which llama.cpp needs.
pub(crate) const NEEDS_HEAD: Rule = fails(
    &["tie_word_embeddings"],
    |case, _| case.tensors.contains(&"output.weight") || !case.has("token_embd.weight"),
    "this family needs an output head of its own, and the embedding serves as it here",
);

/// An output head that shares the embedding, as llama.cpp has it.
pub(crate) const NO_HEAD: Rule = fails(
    &["tie_word_embeddings"],
    |case, _| !case.tensors.contains(&"output.weight"),
    "this family has no output head of its own",
);

/// Experts in every layer.
pub(crate) const ALL_EXPERTS: Rule =
    fails(&["mlp_only_layers"], lists_no_layer, "every layer of this family has experts");

/// Experts in every layer.
pub(crate) const EVERY_STEP: Rule =
    fails(&["decoder_sparse_step"], is_one, "every layer of this family has experts");

/// No layer that the model has.
fn lists_no_layer(case: &Case<'_>, listed: &Json) -> bool {
    let is_one = |layer: &Json| layer.as_u64().is_none_or(|layer| layer < case.layers());
    !listed.as_array().is_some_and(|layers| layers.iter().any(is_one))
}

/// Whether a number is this one, or not stated.
pub(crate) fn is_number(value: &Json, wanted: f64) -> bool {
    value.as_f64().is_none_or(|number| (number - wanted).abs() < 1e-6)
}
