//! The kinds of problems and errors as SARIF rules, with the text of `weigh errors`.

use serde_json::{Value as Json, json};
use weighbridge::ErrorKind;
use weighbridge::catalog::KINDS;

use super::super::tally::DANGEROUS;
use super::level;
use crate::commands::problems::section;

/// The kinds of errors that keep a file from being read.
const ERRORS: [ErrorKind; 6] = [
    ErrorKind::Io,
    ErrorKind::Malformed,
    ErrorKind::Unsupported,
    ErrorKind::Limit,
    ErrorKind::Usage,
    ErrorKind::Cancelled,
];

/// What GitHub calls critical starts at 9.0 of 10.
const CRITICAL: &str = "9.3";

/// A rule for every kind of problem: a scan without results says what it looked for.
pub(super) fn all() -> Vec<Json> {
    KINDS.iter().map(|kind| rule(kind)).collect()
}

/// The position of a kind of problem among the rules.
pub(super) fn index_of(kind: &str) -> Option<usize> {
    KINDS.iter().position(|known| *known == kind)
}

/// The kinds of errors.
pub(super) fn errors() -> Vec<Json> {
    ERRORS.iter().map(|kind| described(kind.name())).collect()
}

/// The position of a kind of error among them.
pub(super) fn index_of_error(kind: &str) -> Option<usize> {
    ERRORS.iter().position(|known| known.name() == kind)
}

fn rule(kind: &str) -> Json {
    let mut rule = described(kind);
    rule["defaultConfiguration"] = json!({ "level": level(kind) });
    rule["properties"] = if kind == DANGEROUS {
        let tags = ["security", "external/cwe/cwe-502"];
        json!({ "tags": tags, "precision": "high", "security-severity": CRITICAL })
    } else {
        json!({ "tags": ["reliability"] })
    };
    rule
}

/// A kind with its section of the page: the first sentence, the first paragraph, all of it.
fn described(kind: &str) -> Json {
    let text = section(kind).unwrap_or_default();
    let first = text.lines().next().unwrap_or_default();
    let sentence = first.split_once(". ").map_or(first, |(sentence, _)| sentence);
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    json!({
        "id": kind,
        "shortDescription": { "text": ended(sentence) },
        "fullDescription": { "text": first },
        "help": { "text": lines.join("\n"), "markdown": text },
    })
}

/// A sentence with its full stop.
fn ended(sentence: &str) -> String {
    format!("{}.", sentence.trim_end_matches('.'))
}
