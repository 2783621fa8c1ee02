//! SentencePiece of chat models that end a text where a turn ends, if they have a token for that:
//! InternLM's.

use std::path::Path;

use serde_json::Value as Json;

use super::files::MODEL;
use super::sentencepiece::{self, Piece, Tokens};
use super::unigram::adds_space;
use super::{Beyond, Entries, Files, KINDS, SPACE_PREFIX, Special, TokenType};
use crate::error::Result;

/// The token that ends a turn.
const END: &str = "<|im_end|>";

/// How texts of tokens begin that nobody uses.
const UNUSED: &str = "[UNUSED";

/// What stands for the character that readers take for the end of a text.
const NUL: &str = "🐉";

/// Writes pieces with the added tokens of all files, unchanged. Whether a space stands before a text is
/// what the file of SentencePiece says.
pub(super) fn write(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let mut tokens = Tokens::read(files)?;
    for piece in &mut tokens.0 {
        if piece.text == "\0" {
            NUL.clone_into(&mut piece.text);
        }
        if piece.text.starts_with(UNUSED) {
            piece.kind = TokenType::Unused;
        }
    }
    tokens.replace_added(files)?;
    let bytes = (files.repository.files)(MODEL)?.unwrap_or_default();
    let has_space = adds_space(&bytes).map_err(|error| error.in_file(Path::new(MODEL)))?;
    let end = tokens.0.iter().rposition(|piece| piece.text == END);
    let count = tokens.0.len();
    Piece::write(tokens.0, "llama", entries);
    entries.flag(SPACE_PREFIX, has_space);
    let mut special = Special::read(files, &KINDS, Beyond::LeaveOut(count))?;
    if let Some(id) = end {
        special.replace("eos", id as u64);
    }
    special.write(entries)
}

/// Writes pieces with the added tokens of one file. Whether a space stands before a text is what that
/// file says.
pub(super) fn write_stated(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let tokens = sentencepiece::with_configured(files)?;
    let count = tokens.0.len();
    Piece::write(tokens.0, "llama", entries);
    if let Some(Json::Bool(prefix)) = files.config.get("add_prefix_space") {
        entries.flag(SPACE_PREFIX, *prefix);
    }
    let mut special = Special::read(files, &KINDS, Beyond::LeaveOut(count))?;
    let by_id = files.tokens_by_id()?;
    let is_end = |token: &Json| token["content"] == END && token["special"] == true;
    if let Some((id, _)) = by_id.into_iter().find(|(_, token)| is_end(token)) {
        special.replace("eos", id);
    }
    special.write(entries)
}
