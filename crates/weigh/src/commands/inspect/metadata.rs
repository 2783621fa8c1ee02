//! Metadata as `key = value` lines.
//!
//! Arrays that opening left in the file are shown by their length and first elements; only these
//! are read.

use std::fmt::Write as _;
use std::io::{self, Write};

use weighbridge::Model;
use weighbridge::Source;
use weighbridge::catalog::{ArrayRef, Value};
use weighbridge::internals::text::{escaped, shortened};

use crate::render::LABEL;
use crate::render::units::grouped;

/// Characters of a text, elements of an array.
const MOST_TEXT: usize = 100;
const MOST_ELEMENTS: usize = 4;
/// Characters of a text inside an array.
const MOST_INNER: usize = 24;
/// Structures inside structures are not followed further than this.
const MOST_DEPTH: usize = 3;

pub(super) fn write(out: &mut dyn Write, in_full_length: bool, model: &Model) -> io::Result<()> {
    writeln!(out)?;
    let entries = model.metadata();
    if entries.is_empty() {
        return writeln!(out, "  no metadata");
    }
    for (key, value, source) in entries {
        let text = match in_full_length {
            true => in_full(value, source),
            false => in_short(value, source),
        };
        writeln!(out, "  {} {LABEL}={LABEL:#} {text}", escaped(key))?;
    }
    Ok(())
}

fn in_full(value: &Value, source: &Source) -> String {
    match value {
        Value::Text(text) => escaped(text).into_owned(),
        Value::Array(array) => match source.array(array) {
            Ok(elements) => escaped(&Value::List(elements).to_json().to_string()).into_owned(),
            Err(error) => unreadable(array, &error),
        },
        other => {
            scalar(other).unwrap_or_else(|| escaped(&other.to_json().to_string()).into_owned())
        }
    }
}

fn in_short(value: &Value, source: &Source) -> String {
    match value {
        Value::Text(text) => shortened(text, MOST_TEXT),
        Value::Array(array) => {
            let first = ArrayRef { len: array.len.min(MOST_ELEMENTS as u64), ..array.clone() };
            match source.array(&first) {
                Ok(elements) => list(&array.element, array.len, &elements),
                Err(error) => unreadable(array, &error),
            }
        }
        other => inner(other, 0),
    }
}

fn unreadable(array: &ArrayRef, error: &weighbridge::Error) -> String {
    format!("array of {} {}, unreadable: {error}", grouped(array.len), escaped(&array.element))
}

/// `array of 151,936 string: "!", "\"", "#", ..`
fn list(element: &str, len: u64, elements: &[Value]) -> String {
    let shown = elements.len().min(MOST_ELEMENTS);
    let mut text = format!("array of {} {}", grouped(len), escaped(element));
    for (index, element) in elements[..shown].iter().enumerate() {
        let mark = if index == 0 { ":" } else { "," };
        let _ = write!(text, "{mark} {}", inner(element, 1));
    }
    if len > shown as u64 && shown > 0 {
        text.push_str(", ..");
    }
    text
}

/// A value in a few words, texts quoted.
fn inner(value: &Value, depth: usize) -> String {
    match value {
        Value::Text(text) => format!("\"{}\"", shortened(text, MOST_INNER)),
        Value::List(values) if depth < MOST_DEPTH => {
            several(values.iter().map(|value| inner(value, depth + 1)), values.len(), ['[', ']'])
        }
        Value::Map(entries) if depth < MOST_DEPTH => {
            let entry = |(key, value): &(Box<str>, Value)| {
                format!("{}: {}", shortened(key, MOST_INNER), inner(value, depth + 1))
            };
            several(entries.iter().map(entry), entries.len(), ['{', '}'])
        }
        Value::List(values) => format!("[{} elements]", grouped(values.len() as u64)),
        Value::Map(entries) => format!("{{{} entries}}", grouped(entries.len() as u64)),
        Value::Array(array) => {
            format!("array of {} {}", grouped(array.len), escaped(&array.element))
        }
        other => scalar(other).unwrap_or_default(),
    }
}

fn several(shown: impl Iterator<Item = String>, len: usize, [open, close]: [char; 2]) -> String {
    let mut parts: Vec<_> = shown.take(MOST_ELEMENTS).collect();
    if len > MOST_ELEMENTS {
        parts.push(format!(".. {} in all", grouped(len as u64)));
    }
    format!("{open}{}{close}", parts.join(", "))
}

/// Single values, exactly: a float has as many digits as tell it from its neighbours.
fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Unsigned(_, value) => value.to_string(),
        Value::Signed(_, value) => value.to_string(),
        Value::F32(value) => format!("{value:?}"),
        Value::F64(value) => format!("{value:?}"),
        _ => return None,
    })
}
