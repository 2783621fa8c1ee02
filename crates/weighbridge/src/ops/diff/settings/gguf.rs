//! Settings in the metadata of GGUF files.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::{Compared, Entry, counts, is_same, shown};
use crate::catalog::Value;
use crate::error::Result;
use crate::model::Model;
use crate::source::Source;
use crate::tokenizer::TOKENS;

const ARCHITECTURE: &str = "general.architecture";

/// The metadata of a file, with the elements of arrays that were left in the file.
pub(super) fn entries(model: &Model) -> Result<Vec<Entry>> {
    let read = |value: &Value, source: &Source| match value {
        Value::Array(array) => {
            source.array(array).map(|values| values.iter().map(Value::to_json).collect())
        }
        other => Ok(other.to_json()),
    };
    let metadata = model.metadata().into_iter();
    metadata.map(|(key, value, source)| Ok((key.to_owned(), read(value, source)?))).collect()
}

/// Metadata that was computed.
pub(super) fn computed(entries: Vec<(String, Value)>) -> Vec<Entry> {
    let json = |value: &Value| match value {
        Value::List(values) => values.iter().map(Value::to_json).collect(),
        other => other.to_json(),
    };
    entries.into_iter().map(|(key, value)| (key, json(&value))).collect()
}

/// Compares two files.
pub(super) fn compare(models: [&Model; 2], found: &mut Compared) {
    match models.map(entries) {
        [Ok(a), Ok(b)] => compare_entries([&a, &b], false, found),
        [Err(error), _] | [_, Err(error)] => found.not_compared(&error.to_string()),
    }
}

/// Compares computed metadata with that of a file. Entries on one side only are listed if they count:
/// versions of the converter write different ones.
pub(super) fn across([computed, stored]: [Vec<Entry>; 2], is_swapped: bool, found: &mut Compared) {
    let has_tokens = |side: &[Entry]| side.iter().any(|(key, _)| key == TOKENS);
    let both = has_tokens(&computed) && has_tokens(&stored);
    let keep = |side: Vec<Entry>| -> Vec<Entry> {
        side.into_iter().filter(|(key, _)| both || !key.starts_with("tokenizer.")).collect()
    };
    let (computed, stored) = (keep(computed), keep(stored));
    let sides = if is_swapped { [&stored, &computed] } else { [&computed, &stored] };
    compare_entries(sides.map(|side| &side[..]), true, found);
}

fn compare_entries([a, b]: [&[Entry]; 2], is_converted: bool, found: &mut Compared) {
    // Keys of the architecture are the same setting, whatever it is called.
    let [a, b] = [a, b].map(by_setting);
    let in_b: HashMap<&str, &Json> = b.iter().map(|(key, value)| (&**key, *value)).collect();
    let in_a: HashMap<&str, &Json> = a.iter().map(|(key, value)| (&**key, *value)).collect();
    for (key, value) in &a {
        match in_b.get(&**key) {
            Some(other) if is_same_entry(key, value, other) => {}
            Some(other) => {
                let counts = counts::of_metadata(key, is_converted);
                found.add(key, shown([value, other]), counts);
            }
            None => alone(key, value, 0, is_converted, found),
        }
    }
    for (key, value) in b.iter().filter(|(key, _)| !in_a.contains_key(&**key)) {
        alone(key, value, 1, is_converted, found);
    }
}

/// The entries that are settings, without the name of the architecture in their keys.
fn by_setting(entries: &[Entry]) -> Vec<(String, &Json)> {
    let architecture = entries.iter().find(|(key, _)| key == ARCHITECTURE);
    let prefix = architecture.and_then(|(_, name)| name.as_str()).map(|name| format!("{name}."));
    let setting = |key: &str| {
        let own = prefix.as_deref().and_then(|prefix| key.strip_prefix(prefix));
        own.unwrap_or(key).to_owned()
    };
    let is_setting = |key: &str| counts::of_metadata(key, false);
    let settings = entries.iter().filter(|(key, _)| is_setting(key));
    settings.map(|(key, value)| (setting(key), value)).collect()
}

fn alone(key: &str, value: &Json, side: usize, is_converted: bool, found: &mut Compared) {
    let is_default = match key {
        "rope.freq_base" => is_same(value, &json!(10000.0)),
        "rope.scaling.type" => value == "none",
        "rope.scaling.factor" => is_same(value, &json!(1.0)),
        _ => false,
    };
    let counts = counts::of_metadata_alone(key, is_converted) && !is_default;
    if !counts {
        return;
    }
    let mut values = [None, None];
    values[side] = shown([value, &Json::Null])[0].take();
    found.add(key, values, true);
}

/// Tokens that only fill up the embedding have any name.
fn is_same_entry(key: &str, a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) if key == TOKENS => {
            let is_filler = |token: &Json| token.as_str().is_some_and(|t| t.starts_with("[PAD"));
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| a == b || is_filler(a) || is_filler(b))
        }
        _ => is_same(a, b),
    }
}
