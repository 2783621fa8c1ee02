//! Compares the metadata and configs of both sides.
//!
//! Keys of a config are those of its outermost object, behind the name of its file:
//! `config.json: hidden_size`.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::report::{Changed, DiffMetadata};
use crate::catalog::{ArrayRef, Value};
use crate::model::Model;
use crate::source::Source;

/// An entry of one side.
enum Entry<'m> {
    /// Metadata of a file, and the file.
    Stored(&'m Value, &'m Source),
    /// A key of a config.
    Config(&'m Json),
}

/// Entries on one side only, and entries that differ.
pub(super) fn compare(a: &Model, b: &Model) -> DiffMetadata {
    let (in_a, in_b) = (entries(a), entries(b));
    let mut found = DiffMetadata::default();
    let by_key: HashMap<&str, &Entry<'_>> = in_b.iter().map(|(k, e)| (&**k, e)).collect();
    let mut common = std::collections::HashSet::new();
    for (key, entry) in &in_a {
        let Some(other) = by_key.get(&**key) else {
            found.only_a.push(key.clone());
            continue;
        };
        common.insert(&**key);
        if !entry.is_same(other) {
            let (key, a, b) = (key.clone(), entry.shown(), other.shown());
            found.changed.push(Changed { key, a, b });
        }
    }
    found.only_b.extend(in_b.iter().map(|(k, _)| k).filter(|k| !common.contains(&***k)).cloned());
    found
}

fn entries(model: &Model) -> Vec<(String, Entry<'_>)> {
    let stored = model.metadata().into_iter();
    let mut all: Vec<_> =
        stored.map(|(key, value, source)| (key.to_owned(), Entry::Stored(value, source))).collect();
    for config in model.configs() {
        let Json::Object(entries) = &config.json else {
            all.push((config.name.clone(), Entry::Config(&config.json)));
            continue;
        };
        let key = |key: &str| format!("{}: {key}", config.name);
        all.extend(entries.iter().map(|(name, value)| (key(name), Entry::Config(value))));
    }
    all
}

impl Entry<'_> {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stored(Value::Array(a), in_a), Self::Stored(Value::Array(b), in_b)) => {
                same_arrays((a, in_a), (b, in_b))
            }
            // One format may leave an array in the file that another has read.
            (Self::Stored(a, in_a), Self::Stored(b, in_b)) => read(a, in_a) == read(b, in_b),
            (Self::Config(a), Self::Config(b)) => a == b,
            _ => false,
        }
    }

    fn shown(&self) -> Json {
        match self {
            Self::Stored(value, _) => value.to_json(),
            Self::Config(json) => (*json).clone(),
        }
    }
}

fn same_arrays((a, in_a): (&ArrayRef, &Source), (b, in_b): (&ArrayRef, &Source)) -> bool {
    if a.len != b.len || a.element != b.element {
        return false;
    }
    match (in_a.raw_array(a), in_b.raw_array(b)) {
        (Ok(Some(a)), Ok(Some(b))) => a == b,
        // An array that cannot be read counts as different.
        _ => in_a.array(a).is_ok_and(|a| in_b.array(b).is_ok_and(|b| a == b)),
    }
}

/// A value, with the elements of an array that was left in the file.
fn read(value: &Value, source: &Source) -> Json {
    match value {
        Value::Array(array) => match source.array(array) {
            Ok(values) => values.iter().map(Value::to_json).collect(),
            Err(_) => value.to_json(),
        },
        other => other.to_json(),
    }
}
