//! Metadata as `key: type = value` lines.
//!
//! Long arrays are shown by their length and first elements, and only these are read. Multi-line
//! text, such as a chat template, is shown behind a margin, so that its lines cannot pass for lines
//! of the report.

use std::io::{self, Write};

use weighbridge::Model;
use weighbridge::Source;
use weighbridge::catalog::{ArrayRef, Value};
use weighbridge::internals::text::{escaped, shortened, spelled_out};

use crate::render::units::{grouped, plural};
use crate::render::wrap::Folded;
use crate::render::{LABEL, Page};

/// Characters shown of a text or a line, elements of an array, lines of a text.
const MOST_TEXT: usize = 100;
const MOST_ELEMENTS: usize = 4;
const MOST_LINES: usize = 8;
/// Characters shown of a text inside an array.
const MOST_INNER: usize = 24;
/// Nesting depth that is shown.
const MOST_DEPTH: usize = 3;

pub(super) fn write(
    out: &mut dyn Write,
    page: &Page,
    in_full_length: bool,
    model: &Model,
) -> io::Result<()> {
    let out = &mut Folded::new(out, page.width);
    writeln!(out)?;
    let entries = model.metadata();
    if entries.is_empty() {
        return writeln!(out, "  no metadata");
    }
    for (key, value, source) in entries {
        let kind = kind(value);
        let text = if in_full_length { in_full(value, source) } else { in_short(value, source) };
        match value {
            Value::Text(text) if has_lines(text) => {
                let limit = if in_full_length || page.verbose { usize::MAX } else { MOST_LINES };
                writeln!(out, "  {}{LABEL}: {kind} ={LABEL:#}", escaped(key))?;
                lines(out, key, text, limit)?;
            }
            Value::Null => writeln!(out, "  {} {LABEL}={LABEL:#} null", escaped(key))?,
            _ => writeln!(out, "  {}{LABEL}: {kind} ={LABEL:#} {text}", escaped(key))?,
        }
    }
    Ok(())
}

/// Whether a text has more than one line.
fn has_lines(text: &str) -> bool {
    text.trim_end().contains('\n')
}

/// Writes a text line by line behind a margin.
fn lines(out: &mut dyn Write, key: &str, text: &str, limit: usize) -> io::Result<()> {
    let all: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    // Cutting a single line would save nothing.
    let shown = if all.len() <= limit.saturating_add(1) { all.len() } else { limit };
    for line in &all[..shown] {
        match limit {
            usize::MAX => writeln!(out, "    {LABEL}|{LABEL:#} {}", escaped(line))?,
            _ => writeln!(out, "    {LABEL}|{LABEL:#} {}", shortened(line, MOST_TEXT))?,
        }
    }
    match all.len() - shown {
        0 => Ok(()),
        more => {
            let (more, key) = (plural(more as u64, "more line"), shortened(key, MOST_TEXT));
            writeln!(out, "    {LABEL}{more} (--key {key} or --full-metadata shows all){LABEL:#}")
        }
    }
}

/// `u32`, `string`, `array of 32,000 strings`.
fn kind(value: &Value) -> String {
    let array = |len: u64, element: &str| {
        let (len, element) = (grouped(len), escaped(element).into_owned());
        match element.as_str() {
            "string" | "bool" | "map" => format!("array of {len} {element}s"),
            "mixed" => format!("array of {len} values"),
            _ => format!("array of {len} {element}"),
        }
    };
    match value {
        Value::Text(text) if has_lines(text) => {
            let lines = text.trim_end_matches('\n').split('\n').count();
            format!("string of {} lines", grouped(lines as u64))
        }
        Value::Array(ArrayRef { len, element, .. }) => array(*len, element),
        Value::List(values) => array(values.len() as u64, &value.element_type()),
        Value::Packed(packed) => array(packed.len() as u64, packed.element()),
        Value::Map(entries) => format!("map of {}", entry_count(entries.len())),
        other => other.type_name(),
    }
}

fn entry_count(count: usize) -> String {
    format!("{} {}", grouped(count as u64), if count == 1 { "entry" } else { "entries" })
}

fn in_full(value: &Value, source: &Source) -> String {
    match value {
        Value::Text(text) => escaped(text).into_owned(),
        Value::RawText(bytes) => escaped(&spelled_out(bytes)).into_owned(),
        Value::Array(array) => match source.array(array) {
            Ok(elements) => escaped(&Value::List(elements).to_json().to_string()).into_owned(),
            Err(error) => unreadable(&error),
        },
        other => {
            scalar(other).unwrap_or_else(|| escaped(&other.to_json().to_string()).into_owned())
        }
    }
}

fn in_short(value: &Value, source: &Source) -> String {
    match value {
        Value::Text(text) => shortened(text, MOST_TEXT),
        Value::RawText(bytes) => shortened(&spelled_out(bytes), MOST_TEXT),
        Value::Array(array) => {
            let first = ArrayRef { len: array.len.min(MOST_ELEMENTS as u64), ..array.clone() };
            match source.array(&first) {
                Ok(elements) => list(array.len, &elements),
                Err(error) => unreadable(&error),
            }
        }
        other => inner(other, 0),
    }
}

fn unreadable(error: &weighbridge::Error) -> String {
    format!("unreadable: {error}")
}

/// `"!", "\"", "#", ..`
fn list(len: u64, elements: &[Value]) -> String {
    let shown = elements.len().min(MOST_ELEMENTS);
    let mut all: Vec<_> = elements[..shown].iter().map(|element| inner(element, 1)).collect();
    if len > shown as u64 && shown > 0 {
        all.push("..".to_owned());
    }
    all.join(", ")
}

/// A shortened value, with texts in quotes.
fn inner(value: &Value, depth: usize) -> String {
    match value {
        Value::Text(text) => format!("\"{}\"", shortened(text, MOST_INNER)),
        Value::RawText(bytes) => format!("\"{}\"", shortened(&spelled_out(bytes), MOST_INNER)),
        Value::List(values) if depth < MOST_DEPTH => {
            several(values.iter().map(|value| inner(value, depth + 1)), values.len(), ['[', ']'])
        }
        Value::Map(entries) if depth < MOST_DEPTH => {
            let entry = |(key, value): &(Box<str>, Value)| {
                format!("{}: {}", shortened(key, MOST_INNER), inner(value, depth + 1))
            };
            several(entries.iter().map(entry), entries.len(), ['{', '}'])
        }
        Value::Packed(packed) => format!("[{} elements]", grouped(packed.len() as u64)),
        Value::List(values) => format!("[{} elements]", grouped(values.len() as u64)),
        Value::Map(entries) => format!("{{{} entries}}", grouped(entries.len() as u64)),
        Value::Array(_) => kind(value),
        other => scalar(other).unwrap_or_default(),
    }
}

fn several(shown: impl Iterator<Item = String>, len: usize, [open, close]: [char; 2]) -> String {
    let mut parts: Vec<_> = shown.take(MOST_ELEMENTS).collect();
    if len > MOST_ELEMENTS {
        parts.push(format!(".. {} in total", grouped(len as u64)));
    }
    format!("{open}{}{close}", parts.join(", "))
}

/// An exact scalar: a float has as many digits as distinguish it from its neighbours.
pub(super) fn scalar(value: &Value) -> Option<String> {
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
