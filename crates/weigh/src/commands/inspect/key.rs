//! `weigh inspect --key`: one metadata value, for scripts.
//!
//! A key is looked up in the metadata of the files, then in the JSON files next to them. Their keys
//! start with the file's name: `config.hidden_size` is in `config.json`. Dots lead into maps, numbers
//! into arrays.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use serde_json::Value as Json;
use weighbridge::catalog::Value;
use weighbridge::internals::text::{escaped, listed, shortened, spelled_out};
use weighbridge::{Error, Model, Source};

use super::args::Inspect;
use super::{metadata, near};
use crate::commands::{Outcome, after_write, stdin};
use crate::render::json::{Layout, json};
use crate::terminal;

pub(super) fn run(args: &Inspect, key: &str) -> Outcome {
    let opener = args.open.options();
    let (mut outcome, mut models) = (Outcome::Done, Vec::new());
    for name in &args.models {
        match stdin::or_all_named(&opener, name) {
            Ok(opened) => models.extend(opened),
            Err(error) => {
                terminal::report(&error);
                outcome = Outcome::Failed;
            }
        }
    }
    // With several models, each value follows the path of its model.
    let is_one = args.models.len() == 1 && models.len() == 1;
    let mut out = Vec::new();
    for model in &models {
        let value = match find(model, key) {
            Ok(Some(value)) => value,
            Ok(None) => {
                missing(model, key);
                outcome = outcome.max(Outcome::Found);
                continue;
            }
            Err(error) => {
                terminal::report(&error);
                outcome = Outcome::Failed;
                continue;
            }
        };
        if !is_one {
            out.extend_from_slice(escaped(&model.path().to_string_lossy()).as_bytes());
            out.push(b'\t');
        }
        out.extend_from_slice(&value.shown(io::stdout().is_terminal()));
        out.push(b'\n');
    }
    // Not through the stream that strips colours: a value may contain escape sequences.
    let mut stdout = io::stdout().lock();
    after_write(stdout.write_all(&out).and_then(|()| stdout.flush()), outcome)
}

/// The value of a key.
#[derive(Debug, PartialEq)]
enum Found<'m> {
    Text(Cow<'m, str>),
    /// Text that is not UTF-8.
    Raw(&'m [u8]),
    /// A number or another scalar, formatted.
    Scalar(String),
    Json(Cow<'m, Json>),
}

impl<'m> Found<'m> {
    fn of(value: &'m Value, source: &Source) -> Result<Self, Error> {
        Ok(match value {
            Value::Text(text) => Self::Text(Cow::Borrowed(text)),
            Value::RawText(bytes) => Self::Raw(bytes),
            Value::Array(array) => {
                Self::Json(Cow::Owned(Value::List(source.array(array)?).to_json()))
            }
            other => match metadata::scalar(other) {
                Some(scalar) => Self::Scalar(scalar),
                None => Self::Json(Cow::Owned(other.to_json())),
            },
        })
    }

    fn of_json(json: Cow<'m, Json>) -> Self {
        match json {
            Cow::Borrowed(Json::String(text)) => Self::Text(Cow::Borrowed(text)),
            Cow::Owned(Json::String(text)) => Self::Text(Cow::Owned(text)),
            json => Self::Json(json),
        }
    }

    /// The bytes to print. On a terminal, control characters are escaped; scripts get raw bytes.
    fn shown(&self, on_terminal: bool) -> Vec<u8> {
        match self {
            Self::Text(text) if on_terminal => lines(text).into_bytes(),
            Self::Text(text) => text.as_bytes().to_vec(),
            Self::Raw(bytes) if on_terminal => lines(&spelled_out(bytes)).into_bytes(),
            Self::Raw(bytes) => bytes.to_vec(),
            Self::Scalar(text) => text.clone().into_bytes(),
            Self::Json(value) => {
                let mut out = Vec::new();
                // Writing to memory does not fail.
                let _ = json(&mut out, Layout::Lines, &**value);
                out.truncate(out.trim_ascii_end().len());
                out
            }
        }
    }
}

/// Escapes all control characters except line breaks.
fn lines(text: &str) -> String {
    text.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
}

fn find<'m>(model: &'m Model, key: &str) -> Result<Option<Found<'m>>, Error> {
    let entries = model.metadata();
    if let Some((_, value, source)) = entries.iter().find(|(name, ..)| *name == key) {
        return Found::of(value, source).map(Some);
    }
    for (name, value, source) in entries {
        let Some(path) = below(key, name) else { continue };
        let json = match value {
            Value::Array(array) => Value::List(source.array(array)?).to_json(),
            Value::List(_) | Value::Packed(_) | Value::Map(_) => value.to_json(),
            _ => continue,
        };
        if let Some(found) = walk(&json, path) {
            return Ok(Some(Found::of_json(Cow::Owned(found.clone()))));
        }
    }
    let inside = model.configs().iter().find_map(|config| {
        let name = config.name.strip_suffix(".json").unwrap_or(&config.name);
        if key == name { Some(&config.json) } else { walk(&config.json, below(key, name)?) }
    });
    Ok(inside.map(|json| Found::of_json(Cow::Borrowed(json))))
}

/// The part of a key after a name and a dot.
fn below<'k>(key: &'k str, name: &str) -> Option<&'k str> {
    key.strip_prefix(name)?.strip_prefix('.')
}

/// The value at a path. Names may contain dots; the longest existing name wins.
fn walk<'j>(json: &'j Json, path: &str) -> Option<&'j Json> {
    match json {
        Json::Object(entries) => entries.get(path).or_else(|| {
            path.rmatch_indices('.')
                .find_map(|(at, _)| walk(entries.get(&path[..at])?, &path[at + 1..]))
        }),
        Json::Array(values) => match path.split_once('.') {
            Some((index, rest)) => walk(values.get(index.parse::<usize>().ok()?)?, rest),
            None => values.get(path.parse::<usize>().ok()?),
        },
        _ => None,
    }
}

fn missing(model: &Model, key: &str) {
    let path = model.path().to_string_lossy().into_owned();
    terminal::note(&format!("{}: no metadata key '{}'", escaped(&path), shortened(key, 100)));
    let mut keys: Vec<String> =
        model.metadata().into_iter().map(|(key, ..)| key.to_owned()).collect();
    for config in model.configs() {
        let name = config.name.strip_suffix(".json").unwrap_or(&config.name);
        config_keys(name, &config.json, &mut keys);
    }
    let near: Vec<_> = near::names(key, keys.iter().map(String::as_str));
    let near: Vec<_> = near.into_iter().map(|name| shortened(name, 100)).collect();
    terminal::hint(&if near.is_empty() {
        format!("`weigh inspect --metadata {}` lists the keys", escaped(&path))
    } else {
        format!("did you mean {}?", listed(&near, "or"))
    });
}

/// Collects the keys of a JSON file, nested ones included.
fn config_keys(prefix: &str, json: &Json, keys: &mut Vec<String>) {
    for (key, value) in json.as_object().into_iter().flatten() {
        let key = format!("{prefix}.{key}");
        config_keys(&key, value, keys);
        keys.push(key);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dots_lead_inside() {
        let config = json!({ "a": { "b": [1, { "c": 2 }], "x.y": 3 }, "a.b": 4 });
        let found = |path| walk(&config, path).cloned();
        assert_eq!(found("a.b"), Some(json!(4)));
        assert_eq!(found("a.x.y"), Some(json!(3)));
        assert_eq!(found("a.b.1.c"), Some(json!(2)), "the longest name leads nowhere");
        let config = &config["a"];
        assert_eq!(walk(config, "b.1.c"), Some(&json!(2)));
        assert_eq!(walk(config, "b.2"), None);
        assert_eq!(walk(config, "b.c"), None);
    }

    #[test]
    fn a_terminal_is_not_moved_about() {
        let text = Found::Text(Cow::Borrowed("a\n\x1b[2Jb"));
        assert_eq!(text.shown(false), b"a\n\x1b[2Jb");
        assert_eq!(text.shown(true), b"a\n\\u{1b}[2Jb");
        assert_eq!(Found::Json(Cow::Owned(json!(["a", 1]))).shown(false), b"[\"a\",1]");
    }
}
