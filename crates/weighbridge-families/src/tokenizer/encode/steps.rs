//! Normalizers and pre-tokenizers, as far as the text needs them.

use serde_json::Value as Json;

use super::pattern::Pattern;
use super::words;
use super::{Normalize, TextPart, bytes};

/// What a normalizer does to the text, in which every letter is composed and decomposed alike.
pub(super) fn normalizer(normalizer: &Json) -> Option<Normalize> {
    match normalizer["type"].as_str() {
        None if normalizer.is_null() => Some(Box::new(str::to_owned)),
        Some("NFC" | "NFD") => Some(Box::new(str::to_owned)),
        Some("Lowercase") => Some(Box::new(str::to_lowercase)),
        Some("BertNormalizer") => words::normalizer(normalizer),
        Some("Replace") => {
            let from = normalizer["pattern"]["String"].as_str()?.to_owned();
            let to = normalizer["content"].as_str()?.to_owned();
            (!from.is_empty())
                .then(|| -> Normalize { Box::new(move |text| text.replace(&from, &to)) })
        }
        Some("Sequence") => {
            let all = normalizer["normalizers"].as_array()?;
            let all: Vec<Normalize> = all.iter().map(self::normalizer).collect::<Option<_>>()?;
            Some(Box::new(move |text| all.iter().fold(text.to_owned(), |text, one| one(&text))))
        }
        _ => None,
    }
}

/// The parts in which no merge crosses a border.
pub(super) fn pre_tokenize(parts: Vec<TextPart>, step: &Json) -> Option<Vec<TextPart>> {
    let isolated = |pattern: &str| cut(&parts, pattern, Keep::All);
    match step["type"].as_str() {
        None if step.is_null() => Some(parts),
        Some("Sequence") => step["pretokenizers"].as_array()?.iter().try_fold(parts, pre_tokenize),
        Some("Split") => split(&parts, step),
        Some("Digits") if step["individual_digits"] == true => isolated(r"\p{N}"),
        Some("Digits") => isolated(r"\p{N}+"),
        Some("Punctuation") => match step["behavior"].as_str() {
            Some("Isolated") | None => isolated(PUNCTUATION),
            Some("Contiguous") => isolated(&format!("{PUNCTUATION}+")),
            _ => None,
        },
        Some("ByteLevel") => {
            let parts = if step["add_prefix_space"] == true {
                parts.into_iter().map(|part| part.changed(after_a_space)).collect()
            } else {
                parts
            };
            let words =
                if step["use_regex"] == false { parts } else { cut(&parts, GPT2, Keep::All)? };
            let spelled = |text: &str| bytes::of_bytes(text.as_bytes());
            Some(words.into_iter().map(|part| part.changed(spelled)).collect())
        }
        Some("BertPreTokenizer") => {
            let words = cut(&parts, r"\S+", Keep::Matches)?;
            cut(&words, PUNCTUATION, Keep::All)
        }
        _ => None,
    }
}

const PUNCTUATION: &str = r"[\p{P}!-/:-@\[-`{-~]";
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

fn split(parts: &[TextPart], step: &Json) -> Option<Vec<TextPart>> {
    let keep = match (step["behavior"].as_str()?, step["invert"] == true) {
        ("Isolated", _) => Keep::All,
        ("Removed", true) => Keep::Matches,
        ("Removed", false) => Keep::Gaps,
        _ => Keep::NothingThere,
    };
    match (&step["pattern"]["Regex"], &step["pattern"]["String"]) {
        (Json::String(pattern), _) => cut(parts, pattern, keep),
        (_, Json::String(text)) => cut(parts, &regex::escape(text), keep),
        _ => None,
    }
}

/// What becomes of a text that a pattern cuts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// What matches and what lies between, each on its own.
    All,
    Matches,
    Gaps,
    /// Some other thing, which is the same for a text without a match.
    NothingThere,
}

fn cut(parts: &[TextPart], pattern: &str, keep: Keep) -> Option<Vec<TextPart>> {
    let pattern = Pattern::new(pattern)?;
    let mut found = Vec::new();
    for part in parts {
        let TextPart::Text(text) = part else {
            found.push(part.clone());
            continue;
        };
        let matches = pattern.matches(text);
        if keep == Keep::NothingThere && !matches.is_empty() {
            return None;
        }
        let mut at = 0;
        for one in matches {
            let (gap, matched) = (&text[at..one.start], &text[one.clone()]);
            let kept = [(gap, keep != Keep::Matches), (matched, keep != Keep::Gaps)];
            let kept = kept.into_iter().filter(|(text, keep)| *keep && !text.is_empty());
            found.extend(kept.map(|(text, _)| TextPart::Text(text.to_owned())));
            at = one.end;
        }
        if at < text.len() && keep != Keep::Matches {
            found.push(TextPart::Text(text[at..].to_owned()));
        }
    }
    Some(found)
}

fn after_a_space(text: &str) -> String {
    let space = if text.starts_with(char::is_whitespace) { "" } else { " " };
    format!("{space}{text}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(step: &Json, text: &str) -> Option<Vec<String>> {
        let found = pre_tokenize(vec![TextPart::Text(text.to_owned())], step)?;
        let text = |part: TextPart| match part {
            TextPart::Text(text) => text,
            TextPart::Token(id) => panic!("{id}"),
        };
        Some(found.into_iter().map(text).collect())
    }

    #[test]
    fn texts_are_cut_as_each_step_says() {
        let words = json!({ "type": "ByteLevel", "add_prefix_space": false });
        assert_eq!(texts(&words, "it's  so").unwrap(), ["it", "'s", "Ġ", "Ġso"]);
        let spaced = json!({ "type": "ByteLevel", "add_prefix_space": true, "use_regex": false });
        assert_eq!(texts(&spaced, "é").unwrap(), ["ĠÃ©"]);
        let bert = json!({ "type": "BertPreTokenizer" });
        assert_eq!(texts(&bert, " a.b \n c").unwrap(), ["a", ".", "b", "c"]);
        let runs = json!({ "type": "Punctuation", "behavior": "Contiguous" });
        assert_eq!(texts(&runs, "a..b!").unwrap(), ["a", "..", "b", "!"]);
        let digits = json!({ "type": "Digits", "individual_digits": false });
        assert_eq!(texts(&digits, "a12b").unwrap(), ["a", "12", "b"]);
        let split = |behavior: &str, invert: bool| {
            let pattern = json!({ "String": " " });
            json!({ "type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert })
        };
        assert_eq!(texts(&split("Removed", false), "a b").unwrap(), ["a", "b"]);
        assert_eq!(texts(&split("Removed", true), "a b").unwrap(), [" "]);
        assert_eq!(texts(&split("MergedWithPrevious", false), "ab").unwrap(), ["ab"]);
        assert_eq!(texts(&split("MergedWithPrevious", false), "a b"), None);
        assert_eq!(texts(&json!({ "type": "Whitespace" }), "a"), None);
    }
}
