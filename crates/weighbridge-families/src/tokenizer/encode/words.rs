//! Word pieces: a word is cut into the longest pieces that the vocabulary has, front to back.

use regex::Regex;
use serde_json::Value as Json;

use super::{Normalize, TextPart};
use crate::tokenizer::vocabulary::Vocabulary;

/// BERT's own normalizer, for a text in which no letter has an accent that is part of it.
pub(super) fn normalizer(step: &Json) -> Option<Normalize> {
    let flag = |key: &str| step[key].as_bool();
    let lowercase = flag("lowercase").unwrap_or(true);
    let clean = flag("clean_text").unwrap_or(true);
    let apart = flag("handle_chinese_chars").unwrap_or(true);
    let strips = flag("strip_accents").unwrap_or(lowercase);
    let steps = [
        (clean, r"[\p{C}--[\t\r\n]]", ""),
        (clean, r"\s", " "),
        (apart, r"[\u{4e00}-\u{9fff}\u{3400}-\u{4dbf}\u{f900}-\u{faff}]", " $0 "),
        (strips, r"\p{Mn}", ""),
    ];
    let steps = steps.into_iter().filter(|(is_done, ..)| *is_done);
    let steps = steps.map(|(_, from, to)| Some((Regex::new(from).ok()?, to)));
    let steps: Vec<(Regex, &str)> = steps.collect::<Option<_>>()?;
    Some(Box::new(move |text| {
        let replaced =
            |text: String, (from, to): &(Regex, &str)| from.replace_all(&text, *to).into_owned();
        let text = steps.iter().fold(text.to_owned(), replaced);
        if lowercase { text.to_lowercase() } else { text }
    }))
}

pub(super) fn ids(parts: &[TextPart], vocabulary: &Vocabulary<'_>) -> Option<Vec<u64>> {
    let model = &vocabulary.tokenizer["model"];
    let unknown = *vocabulary.base.get(model["unk_token"].as_str().unwrap_or("[UNK]"))?;
    let prefix = model["continuing_subword_prefix"].as_str().unwrap_or("##");
    let longest = model["max_input_chars_per_word"].as_u64().unwrap_or(100);
    let mut ids = Vec::new();
    for part in parts {
        match part {
            TextPart::Token(id) => ids.push(*id),
            TextPart::Text(word) if word.chars().count() as u64 > longest => ids.push(unknown),
            TextPart::Text(word) => {
                ids.extend(pieces(word, prefix, vocabulary).unwrap_or(vec![unknown]));
            }
        }
    }
    Some(ids)
}

fn pieces(word: &str, prefix: &str, vocabulary: &Vocabulary<'_>) -> Option<Vec<u64>> {
    let (mut found, mut rest) = (Vec::new(), word);
    while !rest.is_empty() {
        let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8()).rev();
        let prefix = if found.is_empty() { "" } else { prefix };
        let known = |end: usize| {
            let id = vocabulary.base.get(&*format!("{prefix}{}", &rest[..end]));
            id.map(|id| (*id, end))
        };
        let (id, end) = ends.into_iter().find_map(known)?;
        found.push(id);
        rest = &rest[end..];
    }
    Some(found)
}
