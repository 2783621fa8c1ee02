//! Pieces with scores, as T5 has them: from its file of SentencePiece, whose ids are the model's.

use std::path::Path;

use super::files::MODEL;
use super::sentencepiece::{self, Piece, Tokens, pieces};
use super::unigram::{Unigram, write_characters};
use super::{Beyond, Entries, Files, KINDS, SPACE_PREFIX, Special, wrong};
use crate::error::{Error, Result};

/// What the file was called at first.
pub(super) const OLDER: &str = "spiece.model";

pub(super) fn write(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let (name, bytes) = file(files)?;
    let Some(around) = Unigram::around(&bytes).map_err(|e| e.in_file(Path::new(name)))? else {
        return of_pairs(name, files, entries);
    };
    let stored = pieces(&bytes).map_err(|error| error.in_file(Path::new(name)))?;
    let (found, rows) = (stored.len(), files.vocabulary());
    if rows > 0 && found > rows {
        let message = format!("it has {found} pieces, but the model has {rows} tokens");
        return Err(wrong(name, message));
    }
    let tokens = Tokens::of(stored, files)?.0;
    let count = tokens.len();
    Piece::write(tokens, "t5", entries);
    entries.flag(SPACE_PREFIX, around.adds_space);
    entries.flag("tokenizer.ggml.remove_extra_whitespaces", around.removes_spaces);
    write_characters(around.characters, entries);
    Special::read(files, &KINDS, Beyond::LeaveOut(count))?.write(entries)
}

/// The file, by its name.
fn file(files: &Files<'_>) -> Result<(&'static str, Vec<u8>)> {
    for name in [MODEL, OLDER] {
        if let Some(bytes) = (files.repository.files)(name)? {
            return Ok((name, bytes));
        }
    }
    Err(Error::unsupported(format!("the repository has neither {MODEL} nor {OLDER}")))
}

/// Some models of the family have pieces that were merged by rank.
fn of_pairs(name: &str, files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    if name == MODEL {
        return sentencepiece::write(files, entries);
    }
    Err(Error::unsupported("the pieces are not from a unigram model").in_file(Path::new(name)))
}
