//! Which metadata of the source is written.
//!
//! Entries of files of the same format are kept as they are. Those of other formats get the format's
//! name as a prefix (`gguf.general.name`), as text if the new format holds only text. Long arrays of
//! other formats are left out and reported. Entries that only describe how decoded weights were
//! stored are dropped.

use crate::catalog::{ArrayRef, Value};
use crate::containers::writing::{Entries, Holds, MetadataValue, Writer};
use crate::error::Result;
use crate::model::Model;
use crate::source::Source;

/// Arrays up to this length are kept.
const SHORT_ARRAY: u64 = 64;

/// Entries for the new file, and the keys that it cannot hold.
#[derive(Clone, Default)]
pub struct Kept {
    /// Keys and values.
    pub entries: Entries,
    /// Keys that were left out.
    pub left_out: Vec<String>,
}

impl Kept {
    /// Forgets what a model of that format says under these keys.
    pub fn forget(&mut self, format: &str, keys: &[&str]) {
        let is_one = |key: &str| {
            let own = key.strip_prefix(format).and_then(|key| key.strip_prefix('.'));
            keys.contains(&key) || own.is_some_and(|key| keys.contains(&key))
        };
        self.entries.retain(|(key, _)| !is_one(key));
        self.left_out.retain(|key| !is_one(key));
    }
}

/// The metadata that a file made from this model gets.
pub fn kept_metadata(model: &Model, writer: &dyn Writer) -> Result<Kept> {
    let mut kept = Kept { entries: Vec::new(), left_out: Vec::new() };
    for (key, value, source) in model.metadata() {
        let format = source.format();
        let own = format == writer.format();
        if source.is_own_key(key) && !own || *value == Value::Null {
            continue;
        }
        let key = if own { key.to_owned() } else { format!("{format}.{key}") };
        let value_kept = match (writer.holds(), own) {
            (Holds::Nothing, _) => None,
            (Holds::Values, true) => Some(as_it_is(value, source)?),
            (Holds::Values, false) if is_single(value) => Some(MetadataValue::Value(value.clone())),
            _ => text(value, source)?.map(|text| MetadataValue::Value(Value::text(text))),
        };
        match value_kept {
            Some(value) => kept.entries.push((key, value)),
            None => kept.left_out.push(key),
        }
    }
    Ok(kept)
}

fn is_single(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Map(_) | Value::Array(_)) && value.list_len().is_none()
}

/// A value for a file of the format it comes from.
fn as_it_is(value: &Value, source: &Source) -> Result<MetadataValue> {
    match value {
        Value::Array(array) if array.len > 0 => Ok(match source.raw_array(array)? {
            Some(bytes) => MetadataValue::Raw(bytes),
            None => MetadataValue::Value(Value::List(source.array(array)?)),
        }),
        other => Ok(MetadataValue::Value(other.clone())),
    }
}

/// A value as text; `None` if it is too long.
fn text(value: &Value, source: &Source) -> Result<Option<String>> {
    Ok(Some(match value {
        Value::Text(text) => text.to_string(),
        Value::F32(number) => number.to_string(),
        Value::F64(number) => number.to_string(),
        Value::Array(array) if !is_short(array) => return Ok(None),
        Value::Array(array) => {
            let values = source.array(array)?;
            serde_json::Value::from_iter(values.iter().map(Value::to_json)).to_string()
        }
        other if other.list_len().is_some_and(|len| len as u64 > SHORT_ARRAY) => return Ok(None),
        other => other.to_json().to_string(),
    }))
}

/// Whether an array is kept, or shown, with all of its elements.
pub fn is_short(array: &ArrayRef) -> bool {
    array.len <= SHORT_ARRAY && !array.element.starts_with("array")
}

/// Adds an entry, or replaces the one of the same key.
pub fn set_entry(entries: &mut Entries, key: &str, value: Value) {
    let value = MetadataValue::Value(value);
    match entries.iter_mut().find(|(known, _)| known == key) {
        Some(entry) => entry.1 = value,
        None => entries.push((key.to_owned(), value)),
    }
}

/// Puts an entry last, instead of the one of the same key.
pub fn set_last(entries: &mut Entries, key: &str, value: Value) {
    entries.retain(|(known, _)| known != key);
    entries.push((key.to_owned(), MetadataValue::Value(value)));
}
