//! Added tokens are found in the text before anything else is done with it.

use super::TextPart;
use crate::tokenizer::vocabulary::Vocabulary;

/// Cuts texts at the added tokens that are looked for in normalized texts, or in those as they are.
pub(super) fn split(
    parts: Vec<TextPart>,
    vocabulary: &Vocabulary<'_>,
    normalized: bool,
    normalize: impl Fn(&str) -> String,
) -> Option<Vec<TextPart>> {
    let wanted = vocabulary.added.iter().filter(|token| token.normalized == normalized);
    let wanted = wanted.map(|token| (normalize(&token.content), token.id));
    let is_there = |token: &(String, u64)| {
        parts.iter().any(|part| matches!(part, TextPart::Text(text) if text.contains(&token.0)))
    };
    let tokens: Vec<(String, u64)> =
        wanted.filter(|token| !token.0.is_empty()).filter(is_there).collect();
    // Tokens that take spaces with them, or are whole words only, are not known here.
    let is_odd = |id: u64| {
        let own = vocabulary.files.added_tokens().find(|token| token["id"] == id);
        own.is_some_and(|own| ["lstrip", "rstrip", "single_word"].iter().any(|f| own[*f] == true))
    };
    if tokens.iter().any(|(_, id)| is_odd(*id)) {
        return None;
    }
    Some(parts.into_iter().flat_map(|part| cut(part, &tokens)).collect())
}

/// Finds the first token of a text, of several the longest, and so on behind it.
fn cut(part: TextPart, tokens: &[(String, u64)]) -> Vec<TextPart> {
    let TextPart::Text(text) = part else { return vec![part] };
    let (mut found, mut rest) = (Vec::new(), &*text);
    loop {
        let first = tokens
            .iter()
            .filter_map(|(content, id)| Some((rest.find(&**content)?, content.len(), *id)))
            .min_by_key(|(at, length, _)| (*at, std::cmp::Reverse(*length)));
        let Some((at, length, id)) = first else { break };
        if at > 0 {
            found.push(TextPart::Text(rest[..at].to_owned()));
        }
        found.push(TextPart::Token(id));
        rest = &rest[at + length..];
    }
    if !rest.is_empty() {
        found.push(TextPart::Text(rest.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_the_first_is_taken() {
        let tokens = [("a".to_owned(), 1), ("ab".to_owned(), 2), ("c".to_owned(), 3)];
        let text = |text: &str| TextPart::Text(text.to_owned());
        let found = cut(text("xabcxa"), &tokens);
        let expected =
            [text("x"), TextPart::Token(2), TextPart::Token(3), text("x"), TextPart::Token(1)];
        assert_eq!(found, expected);
    }
}
