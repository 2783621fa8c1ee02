//! Byte pairs with a fallback to bytes, as Llama's first tokenizers have them, without the file of
//! SentencePiece they were made from. Scores are lost with that file: every token has the same one.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::vocabulary::{Token, beyond, named};
use super::{
    Beyond, Entries, Files, KINDS, Special, TOKENIZER, TokenType, Vocabulary, sound, special, wrong,
};
use crate::catalog::Value;
use crate::error::Result;

const SCORE: Value = Value::F32(-1000.0);

/// Whether `tokenizer.json` holds such a tokenizer.
pub(super) fn is_for(tokenizer: &Json) -> bool {
    let (model, decoder) = (&tokenizer["model"], &tokenizer["decoder"]);
    model["type"] == "BPE" && model["byte_fallback"] == true && decoder["type"] == "Sequence"
}

/// Writes the model's tokens and the added ones after them. Nothing is filled up.
pub(super) fn write(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let tokens = tokens(files)?;
    let count = tokens.len();
    entries.text("tokenizer.ggml.model", "llama");
    entries.text("tokenizer.ggml.pre", "default");
    TokenType::write(entries, tokens, Some(vec![SCORE; count]));
    Special::read(files, &KINDS, Beyond::LeaveOut(count))?.write(entries)
}

/// Tokens of Gemma 4 that programs want to see in what the model writes.
#[rustfmt::skip]
const VISIBLE: &[&str] = &[
    "<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", "<|tool_response>",
    "<tool_response|>", "<|\"|>",
];

/// Writes the same as Gemma 4 has it: with merges, and without a pre-tokenizer.
pub(super) fn write_gemma4(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let mut tokens = tokens(files)?;
    for (text, kind) in &mut tokens {
        if VISIBLE.contains(&text.as_str()) {
            *kind = TokenType::UserDefined;
        }
    }
    let count = tokens.len();
    entries.text("tokenizer.ggml.model", "gemma4");
    TokenType::write(entries, tokens, Some(vec![SCORE; count]));
    entries.texts("tokenizer.ggml.merges", special::merges(files.need_tokenizer()?)?);
    Special::read(files, &KINDS, Beyond::LeaveOut(count))?.write(entries)
}

/// The model's tokens and the added ones after them.
fn tokens(files: &Files<'_>) -> Result<Vec<(String, TokenType)>> {
    sound::check_byte_pairs(files.need_tokenizer()?)?;
    let vocabulary = Vocabulary::read(files)?;
    sound::check_merges(vocabulary.tokenizer, &vocabulary.base)?;
    let base = vocabulary.base.len();
    let count = base + vocabulary.added.iter().filter(|one| one.id >= base as u64).count();
    if files.vocabulary() > 0 && count > files.vocabulary() {
        let last = vocabulary.added.iter().max_by_key(|token| token.id);
        let text = last.map_or("", |token| &token.content);
        return Err(beyond(text, count as u64 - 1, files.vocabulary()));
    }
    // Special is what has a name as such; being marked is not enough.
    let named: HashSet<String> = named(files).into_iter().collect();
    let mut tokens = Vec::new();
    for (id, token) in vocabulary.by_id(count)?.into_iter().enumerate() {
        let Some(token) = token else {
            return Err(wrong(TOKENIZER, format!("no token has ID {id}")));
        };
        let is_special = named.contains(token.text());
        tokens.push((token.text().to_owned(), kind_of(token, id >= base, is_special)));
    }
    Ok(tokens)
}

/// Writes every token with the mark that it has, and no scores.
pub(super) fn write_bare(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    sound::check_byte_pairs(files.need_tokenizer()?)?;
    let vocabulary = Vocabulary::read(files)?;
    sound::check_merges(vocabulary.tokenizer, &vocabulary.base)?;
    let count = match files.vocabulary() {
        0 => vocabulary.base.len() + vocabulary.added.len(),
        count => count,
    };
    let mut tokens = Vec::new();
    for (id, token) in vocabulary.by_id(count)?.into_iter().enumerate() {
        let Some(token) = token else {
            return Err(wrong(TOKENIZER, format!("no token has ID {id}")));
        };
        tokens.push(bare(token));
    }
    entries.text("tokenizer.ggml.model", "llama");
    entries.text("tokenizer.ggml.pre", "default");
    TokenType::write(entries, tokens, None);
    Special::read(files, &KINDS, Beyond::LeaveOut(count))?.write(entries)
}

fn bare(token: Token<'_>) -> (String, TokenType) {
    let text = token.text().to_owned();
    match token {
        // So that it has letters.
        _ if text == "\0" => ("<b'\\x00'>".to_owned(), TokenType::Byte),
        _ if is_byte(&text) => (text, TokenType::Byte),
        Token::Added(added) if added.special => (text, TokenType::Control),
        Token::Added(_) => (text, TokenType::UserDefined),
        Token::Base(_) => (text, TokenType::Normal),
    }
}

fn kind_of(token: Token<'_>, is_added: bool, is_special: bool) -> TokenType {
    match token {
        _ if is_added && is_special => TokenType::Control,
        Token::Added(_) if is_added => TokenType::UserDefined,
        _ if is_byte(token.text()) => TokenType::Byte,
        _ if is_special => TokenType::Control,
        _ => TokenType::Normal,
    }
}

/// `<0x0A>` and the like.
fn is_byte(text: &str) -> bool {
    let digits = text.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|two| two.len() == 2 && two.bytes().all(|b| b.is_ascii_hexdigit()))
}
