//! Byte-level byte pairs: `tokenizer.json` as it is, with ids that nobody has filled in.

use super::decode::Decoder;
use super::vocabulary::Token;
use super::{Beyond, Entries, Files, KINDS, Special, TokenType, Vocabulary, pre, sound, special};
use crate::error::Result;

/// Writes the vocabulary and its merges. Special tokens, which come after them, are returned.
pub(super) fn write(
    files: &Files<'_>,
    entries: &mut Entries,
    pre: Option<&str>,
) -> Result<Special> {
    sound::check_byte_pairs(files.need_tokenizer()?)?;
    let vocabulary = Vocabulary::read(files)?;
    let tokens = tokens(&vocabulary)?;
    let merges = special::merges(vocabulary.tokenizer)?;
    sound::check_merges(vocabulary.tokenizer, &vocabulary.base)?;
    let count = tokens.len();
    let pre = pre.map_or_else(|| pre::name(&vocabulary), |stated| Ok(stated.to_owned()))?;
    entries.text("tokenizer.ggml.model", "gpt2");
    entries.text("tokenizer.ggml.pre", &pre);
    TokenType::write(entries, tokens, None);
    entries.texts("tokenizer.ggml.merges", merges);
    Special::read(files, &KINDS, Beyond::Refuse(count))
}

/// What is written for every id.
pub(super) fn tokens(vocabulary: &Vocabulary<'_>) -> Result<Vec<(String, TokenType)>> {
    let count = match vocabulary.files.vocabulary() {
        0 => vocabulary.base.len() + vocabulary.added.len(),
        count => count,
    };
    let decoder = Decoder::read(&vocabulary.tokenizer["decoder"]);
    let all = vocabulary.by_id(count)?.into_iter().enumerate();
    Ok(all.map(|(id, one)| written(id, one, &decoder)).collect())
}

/// What is written for an id.
fn written(id: usize, token: Option<Token<'_>>, decoder: &Decoder) -> (String, TokenType) {
    let added = match token {
        None => return (format!("[PAD{id}]"), TokenType::Unused),
        Some(Token::Base(text)) => return (text.to_owned(), TokenType::Normal),
        Some(Token::Added(added)) => added,
    };
    // Added tokens are written the way a decoder shows them.
    let text =
        if added.normalized { added.content.clone() } else { decoder.decode(&added.content) };
    TokenType::of_added(text, added.special)
}
