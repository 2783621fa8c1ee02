//! Settings in the config of a repository.

use serde_json::Value as Json;

use super::{Compared, Entry, counts, is_same, shown, tokenizer};
use crate::config;
use crate::model::Model;
use crate::names::keys;

/// Compares two repositories.
pub(super) fn compare(models: [&Model; 2], found: &mut Compared) {
    let [a, b] = models.map(entries);
    let value = |side: &[Entry], key: &str| {
        side.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
    };
    for (key, in_a) in &a {
        match value(&b, key) {
            Some(in_b) if is_same(in_a, &in_b) => {}
            Some(in_b) => {
                // What neither states is a default, which another key may override.
                let are_stated = models.iter().all(|model| is_stated(model, key));
                let counts = if are_stated {
                    counts::of_config(key) && !share_an_id(key, in_a, &in_b)
                } else {
                    counts::of_config_alone(key)
                };
                found.add(key, shown([in_a, &in_b]), counts);
            }
            None => found.add(key, [Some(in_a.clone()), None], is_alone(key, in_a)),
        }
    }
    for (key, in_b) in b.iter().filter(|(key, _)| value(&a, key).is_none()) {
        found.add(key, [None, Some(in_b.clone())], is_alone(key, in_b));
    }
    tokenizer::compare(models, found);
}

fn is_alone(key: &str, value: &Json) -> bool {
    counts::of_config_alone(key) && *value != Json::Bool(false)
}

/// Whether a config states a value itself. Rotary parameters are under other names there.
fn is_stated(model: &Model, key: &str) -> bool {
    let Some(config) = config::find(model.configs(), config::HUGGING_FACE) else { return false };
    let states = |config: &Json| config.get(key).is_some();
    states(config) || states(&config["text_config"]) || key.contains("rope_") || key.contains('.')
}

/// Whether two lists of tokens have one in common: formats with one end token keep one of several.
fn share_an_id(key: &str, a: &Json, b: &Json) -> bool {
    let ids = |value: &Json| match value {
        Json::Array(ids) => ids.clone(),
        id => vec![id.clone()],
    };
    key.ends_with("_token_id") && ids(a).iter().any(|id| ids(b).contains(id))
}

/// The settings of a model, with everything that transformers fills in.
fn entries(model: &Model) -> Vec<Entry> {
    let config = config::find(model.configs(), config::HUGGING_FACE);
    let mut all = config.map(keys::effective).unwrap_or_default();
    // Written for models that can have a window; this one does not use it.
    let is_unused = all.iter().any(|(key, on)| key == "use_sliding_window" && *on == false);
    let unused = ["sliding_window", "max_window_layers"];
    all.retain(|(key, _)| !(is_unused && unused.contains(&&**key)));
    for (key, value) in &mut all {
        if let (true, Json::Array(ids)) = (key.ends_with("_token_id"), &*value)
            && let [id] = &ids[..]
        {
            *value = id.clone();
        }
    }
    all
}
