//! What of the files' metadata goes into a safetensors file, whose metadata is text alone.
//!
//! Entries of safetensors files are kept as they are. Those of other formats become text under
//! their format's name: `gguf.general.name`. Long arrays are left out, and named.

use crate::catalog::{ArrayRef, Value};
use crate::error::Result;
use crate::model::Model;
use crate::source::Source;

/// Arrays up to this length are kept.
const SHORT_ARRAY: u64 = 64;

/// Entries for the new file, and the keys that found no place there.
pub struct Kept {
    /// Keys and texts.
    pub entries: Vec<(String, String)>,
    /// Keys of what was left out.
    pub left_out: Vec<String>,
}

/// The metadata a safetensors file made from this model gets.
pub fn kept_metadata(model: &Model) -> Result<Kept> {
    let mut kept = Kept { entries: Vec::new(), left_out: Vec::new() };
    for (key, value, source) in model.metadata() {
        let key = match source.container().name() {
            "safetensors" => key.to_owned(),
            format => format!("{format}.{key}"),
        };
        match text(value, source)? {
            Text::Kept(text) => kept.entries.push((key, text)),
            Text::TooLong => kept.left_out.push(key),
            Text::Nothing => {}
        }
    }
    // Loaders of the transformers library insist on this key; what is there already is kept.
    if !kept.entries.iter().any(|(key, _)| key == "format") {
        kept.entries.insert(0, ("format".to_owned(), "pt".to_owned()));
    }
    Ok(kept)
}

enum Text {
    Kept(String),
    TooLong,
    Nothing,
}

fn text(value: &Value, source: &Source) -> Result<Text> {
    Ok(Text::Kept(match value {
        Value::Null => return Ok(Text::Nothing),
        Value::Text(text) => text.to_string(),
        Value::F32(number) => number.to_string(),
        Value::F64(number) => number.to_string(),
        Value::Array(array) if !is_short(array) => return Ok(Text::TooLong),
        Value::Array(array) => {
            let values = source.array(array)?;
            serde_json::Value::from_iter(values.iter().map(Value::to_json)).to_string()
        }
        Value::List(values) if values.len() as u64 > SHORT_ARRAY => return Ok(Text::TooLong),
        other => other.to_json().to_string(),
    }))
}

fn is_short(array: &ArrayRef) -> bool {
    array.len <= SHORT_ARRAY && !array.element.starts_with("array")
}
