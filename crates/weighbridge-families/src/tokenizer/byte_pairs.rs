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
    write_as(files, entries, pre, written)
}

/// The same with added tokens as files have them.
pub(super) fn write_marked(
    files: &Files<'_>,
    entries: &mut Entries,
    pre: Option<&str>,
) -> Result<Special> {
    write_as(files, entries, pre, marked)
}

fn write_as(
    files: &Files<'_>,
    entries: &mut Entries,
    pre: Option<&str>,
    written: Written,
) -> Result<Special> {
    sound::check_byte_pairs(files.need_tokenizer()?)?;
    let vocabulary = Vocabulary::read(files)?;
    let tokens = tokens(&vocabulary, written)?;
    let count = tokens.len();
    let merges = special::merges(vocabulary.tokenizer)?;
    sound::check_merges(vocabulary.tokenizer, &vocabulary.base)?;
    let pre = pre.map_or_else(|| pre::name(&vocabulary), |stated| Ok(stated.to_owned()))?;
    entries.text("tokenizer.ggml.model", "gpt2");
    entries.text("tokenizer.ggml.pre", &pre);
    TokenType::write(entries, tokens, None);
    entries.texts("tokenizer.ggml.merges", merges);
    Special::read(files, &KINDS, Beyond::Refuse(count))
}

/// What is written for an id: the text of its token, and its type.
type Written = fn(usize, Option<Token<'_>>, &Decoder) -> (String, TokenType);

/// What is written for every id.
pub(super) fn tokens(
    vocabulary: &Vocabulary<'_>,
    written: Written,
) -> Result<impl ExactSizeIterator<Item = (String, TokenType)>> {
    let count = count(vocabulary);
    let decoder = Decoder::read(&vocabulary.tokenizer["decoder"]);
    let all = vocabulary.by_id(count)?.into_iter().enumerate();
    Ok(all.map(move |(id, one)| written(id, one, &decoder)))
}

fn count(vocabulary: &Vocabulary<'_>) -> usize {
    match vocabulary.files.vocabulary() {
        0 => vocabulary.base.len() + vocabulary.added.len(),
        count => count,
    }
}

/// Added tokens as they are: a look does not make them special.
fn marked(id: usize, token: Option<Token<'_>>, _: &Decoder) -> (String, TokenType) {
    match token {
        Some(Token::Added(added)) if added.special => (added.content.clone(), TokenType::Control),
        Some(Token::Added(added)) => (added.content.clone(), TokenType::UserDefined),
        Some(Token::Base(text)) => (text.to_owned(), TokenType::Normal),
        None => (format!("[PAD{id}]"), TokenType::Unused),
    }
}

/// Added tokens the way a decoder shows them.
pub(super) fn written(
    id: usize,
    token: Option<Token<'_>>,
    decoder: &Decoder,
) -> (String, TokenType) {
    let added = match token {
        None => return (format!("[PAD{id}]"), TokenType::Unused),
        Some(Token::Base(text)) => return (text.to_owned(), TokenType::Normal),
        Some(Token::Added(added)) => added,
    };
    let text =
        if added.normalized { added.content.clone() } else { decoder.decode(&added.content) };
    TokenType::of_added(text, added.special)
}
