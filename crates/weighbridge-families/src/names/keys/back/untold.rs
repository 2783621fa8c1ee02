//! What a file does not say, with what is taken for it: a value that the config states, because llama.cpp
//! computes with it, or what transformers' class takes.

use serde_json::Value as Json;

use crate::families::{Back, Config, Defaults, Head, Told};

/// Settings that no file says, whatever the family.
const UNTOLD: &[(&str, &str)] = &[("initializer_range", "0.02"), ("attention_dropout", "0.0")];

/// Every setting that the file leaves open, as `key: value`.
pub(super) fn listed(
    config: &Config,
    told: &Told<'_>,
    class: &Defaults,
    back: &Back,
) -> Vec<String> {
    let own = back.untold.iter().chain([&back.activation]).chain(UNTOLD);
    let mut all: Vec<String> = own.filter_map(|(key, taken)| line(config, key, taken)).collect();
    let mut unless = |keys: &[&str], key: &str, taken: &str| {
        if !keys.iter().any(|key| told.own(key).is_some()) {
            all.extend(line(config, key, taken));
        }
    };
    if class.learns_positions {
        return all;
    }
    unless(&["attention.head_count_kv"], "num_key_value_heads", "");
    if matches!(class.head, Head::Of(_) | Head::OfOrShare(_)) {
        unless(&["attention.key_length"], "head_dim", "");
    }
    unless(&["rope.freq_base"], "rope_theta", "");
    if let Some(local) = class.local_theta {
        unless(&["rope.freq_base_swa"], "rope_local_base_freq", &Json::from(local).to_string());
    }
    if let Some(key) = back.rotated {
        unless(&["rope.dimension_count"], key, "");
    }
    if !config.contains_key("rope_scaling") {
        all.push("rope_scaling: null".to_owned());
    }
    all
}

/// What the class takes, unless the file told it after all; without that, the value of the config.
fn line(config: &Config, key: &str, taken: &str) -> Option<String> {
    match (config.get(key), taken) {
        (Some(Json::String(text)), "") => Some(format!("{key}: {text}")),
        (Some(value), "") => Some(format!("{key}: {value}")),
        (Some(_), _) | (None, "") => None,
        (None, taken) => Some(format!("{key}: {taken}")),
    }
}
