//! Normalizers and pre-tokenizers as short lines, one a step, in which different spellings of the
//! same step are one.

use serde_json::Value as Json;

/// The steps of a normalizer.
pub(super) fn normalizer(normalizer: &Json) -> Vec<String> {
    flat(normalizer, "normalizers").into_iter().map(normalizing).collect()
}

/// The steps of a pre-tokenizer.
pub(super) fn steps(pre_tokenizer: &Json) -> Vec<String> {
    flat(pre_tokenizer, "pretokenizers").into_iter().map(splitting).collect()
}

/// The steps inside sequences, in their order.
fn flat<'a>(root: &'a Json, inner: &str) -> Vec<&'a Json> {
    let (mut left, mut found) = (vec![root], Vec::new());
    while let Some(one) = left.pop() {
        match one["type"].as_str() {
            Some("Sequence") => left.extend(one[inner].as_array().into_iter().flatten().rev()),
            Some(_) => found.push(one),
            None if one.is_null() => {}
            None => found.push(one),
        }
    }
    found
}

fn normalizing(step: &Json) -> String {
    match step["type"].as_str() {
        Some("Replace") => format!("replace {} {}", pattern(step), step["content"]),
        Some(name) => name.to_owned(),
        None => "a step without a type".to_owned(),
    }
}

fn splitting(step: &Json) -> String {
    match step["type"].as_str() {
        Some("Split") => split(step),
        Some("Digits") if step["individual_digits"] == true => "digits one by one".to_owned(),
        Some("Digits") => "digits".to_owned(),
        Some("Punctuation") => {
            format!("punctuation {}", step["behavior"].as_str().unwrap_or("Isolated"))
        }
        Some("ByteLevel") => {
            let words = if step["use_regex"] == false { "" } else { " in words" };
            let prefix = if step["add_prefix_space"] == true { " after a space" } else { "" };
            format!("bytes{words}{prefix}")
        }
        Some(name) => name.to_owned(),
        None => "a step without a type".to_owned(),
    }
}

/// To isolate what matches, and to remove what lies between matches, is the same for patterns that
/// match everything, as those of tokenizers do.
fn split(step: &Json) -> String {
    let pattern = pattern(step);
    match (step["behavior"].as_str(), step["invert"] == true) {
        (Some("Isolated"), false) | (Some("Removed"), true) => format!("split {pattern}"),
        (behavior, invert) => {
            let not = if invert { " outside" } else { "" };
            format!("split {pattern} {}{not}", behavior.unwrap_or_default())
        }
    }
}

/// A pattern, in which line breaks are spelled out; text has quotes.
fn pattern(step: &Json) -> String {
    match (&step["pattern"]["Regex"], &step["pattern"]["String"]) {
        (Json::String(regex), _) => regex.replace('\r', "\\r").replace('\n', "\\n"),
        (_, text) => text.to_string(),
    }
}
