//! Pieces with scores, as XLM-RoBERTa has them: from its file of SentencePiece or, without that, from
//! `tokenizer.json`. The two count tokens differently; that of `tokenizer.json` is the model's.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value as Json;

use super::base64::decoded;
use super::protobuf::{Field, Message};
use super::sentencepiece::{Piece, pieces};
use super::vocabulary::{Base, named};
use super::{Beyond, Entries, Files, KINDS, Special, TOKENIZER, TokenType, Vocabulary, wrong};
use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::text::shortened;

const MODEL: &str = "sentencepiece.bpe.model";

/// Tokens, and what is done to a text before it is cut.
pub(super) struct Unigram {
    pub pieces: Vec<Piece>,
    pub adds_space: bool,
    pub removes_spaces: bool,
    /// What letters are replaced by what, as SentencePiece compiles it.
    pub characters: Vec<u8>,
}

pub(super) fn write(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let found = match (files.repository.files)(MODEL)? {
        Some(bytes) => from_model(files, &bytes).map_err(|e| e.in_file(Path::new(MODEL)))?,
        None => from_json(files)?,
    };
    write_all(found, files, entries)
}

/// The id of XLM-RoBERTa's mask, which its file of SentencePiece does not have.
const MASK: usize = 250_001;

/// The same with the token for masks where the file of SentencePiece has no piece for it.
pub(super) fn write_masked(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let Some(bytes) = (files.repository.files)(MODEL)? else {
        return write_all(from_json(files)?, files, entries);
    };
    let mut found = from_model(files, &bytes).map_err(|e| e.in_file(Path::new(MODEL)))?;
    let Some(mask) = found.pieces.get_mut(MASK) else {
        return Err(Error::unsupported(format!("{MODEL} has too few pieces: no token {MASK}")));
    };
    *mask = Piece { text: "<mask>".to_owned(), score: 0.0, kind: TokenType::Control };
    write_all(found, files, entries)
}

fn write_all(found: Unigram, files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let count = found.pieces.len();
    Piece::write(found.pieces, "t5", entries);
    entries.flag(super::SPACE_PREFIX, found.adds_space);
    entries.id("tokenizer.ggml.token_type_count", files.token_types());
    entries.flag("tokenizer.ggml.remove_extra_whitespaces", found.removes_spaces);
    write_characters(found.characters, entries);
    Special::read(files, &KINDS, Beyond::LeaveOut(count))?.write(entries)
}

/// Writes a table of letters; none if it is empty.
pub(super) fn write_characters(table: Vec<u8>, entries: &mut Entries) {
    let bytes = table.into_iter().map(|byte| Value::Unsigned(8, byte.into()));
    entries.list("tokenizer.ggml.precompiled_charsmap", bytes);
}

/// Pieces of the file behind the tokens that the model has first. Its own first ones are these in
/// another order, and it lacks the one for padding: everything moves by one.
fn from_model(files: &Files<'_>, bytes: &[u8]) -> Result<Unigram> {
    let Some(mut found) = Unigram::around(bytes)? else {
        return Err(Error::unsupported("the pieces are not from a unigram model"));
    };
    let stored = pieces(bytes)?;
    let count = files.vocabulary().max(stored.len());
    let first = |(text, kind): (&str, TokenType)| Piece { text: text.to_owned(), score: 0.0, kind };
    let control = |text| (text, TokenType::Control);
    let unknown = ("<unk>", TokenType::Unknown);
    found.pieces.extend([control("<s>"), control("<pad>"), control("</s>"), unknown].map(first));
    let all = (0..count).map(|id| stored.get(id).cloned().unwrap_or_else(|| Piece::nobody(id)));
    found.pieces.extend(all.take(count.saturating_sub(1)).skip(3));
    Ok(found)
}

/// The number of the kind of a model. Pieces are chosen by their scores where nothing is said.
fn kind_of_model(bytes: &[u8], start: usize) -> Result<Option<u64>> {
    let (mut message, mut found) = (Message::new(bytes, start), None);
    while let Some((number, field)) = message.next()? {
        if let (3, Field::Number(kind)) = (number, field) {
            found = Some(kind);
        }
    }
    Ok(found)
}

/// Whether a file of SentencePiece puts a space before a text, however its pieces were made.
pub(super) fn adds_space(bytes: &[u8]) -> Result<bool> {
    let mut found =
        Unigram { pieces: Vec::new(), adds_space: true, removes_spaces: true, characters: vec![] };
    let mut message = Message::new(bytes, 0);
    while let Some((number, field)) = message.next()? {
        if let (3, Field::Bytes(inner, start)) = (number, field) {
            found.normalizer(inner, start)?;
        }
    }
    Ok(found.adds_space)
}

impl Unigram {
    /// What a file says beside its pieces, unless they were made in another way.
    pub fn around(bytes: &[u8]) -> Result<Option<Self>> {
        let mut found =
            Self { pieces: Vec::new(), adds_space: true, removes_spaces: true, characters: vec![] };
        let (mut message, mut kind) = (Message::new(bytes, 0), None);
        while let Some((number, field)) = message.next()? {
            match (number, field) {
                (2, Field::Bytes(inner, start)) => kind = kind_of_model(inner, start)?.or(kind),
                (3, Field::Bytes(inner, start)) => found.normalizer(inner, start)?,
                _ => {}
            }
        }
        Ok((kind.unwrap_or(1) == 1).then_some(found))
    }

    fn normalizer(&mut self, bytes: &[u8], start: usize) -> Result<()> {
        let mut message = Message::new(bytes, start);
        while let Some((number, field)) = message.next()? {
            match (number, field) {
                (2, Field::Bytes(table, _)) => self.characters = table.to_vec(),
                (3, Field::Number(flag)) => self.adds_space = flag != 0,
                (4, Field::Number(flag)) => self.removes_spaces = flag != 0,
                _ => {}
            }
        }
        Ok(())
    }
}

fn from_json(files: &Files<'_>) -> Result<Unigram> {
    let tokenizer = files.need_tokenizer()?;
    let kind = tokenizer["model"]["type"].as_str().unwrap_or("nothing");
    let Some(stored) = tokenizer["model"]["vocab"].as_array().filter(|_| kind == "Unigram") else {
        let kind = shortened(kind, 40);
        let message = format!("{TOKENIZER} has type `{kind}`, expected `Unigram`");
        return Err(Error::unsupported(message));
    };
    let kind_of = kinds(files, tokenizer, stored)?;
    let count = files.vocabulary().max(stored.len());
    let mut pieces = Vec::with_capacity(count);
    for (id, piece) in stored.iter().enumerate() {
        let (text, score) = text_and_score(piece)?;
        #[allow(clippy::cast_possible_truncation)] // f32 is what the file has.
        pieces.push(Piece { text: text.to_owned(), score: score as f32, kind: kind_of(id, text) });
    }
    pieces.extend((stored.len()..count).map(Piece::nobody));
    let flag = |key: &str, unsaid| files.config.get(key).and_then(Json::as_bool).unwrap_or(unsaid);
    Ok(Unigram {
        pieces,
        adds_space: flag("add_prefix_space", true),
        removes_spaces: flag("clean_up_tokenization_spaces", false),
        characters: characters(&tokenizer["normalizer"])?,
    })
}

fn text_and_score(piece: &Json) -> Result<(&str, f64)> {
    let both = piece[0].as_str().zip(piece[1].as_f64());
    let shown = || shortened(&piece.to_string(), 40);
    both.ok_or_else(|| wrong(TOKENIZER, format!("`{}` is not a pair of piece and score", shown())))
}

/// Tokens that XLM-RoBERTa's tokenizer has, whether or not a file names them.
const ALWAYS: [&str; 5] = ["<s>", "</s>", "<unk>", "<pad>", "<mask>"];

/// What tells the type of a token by its id and its text.
fn kinds(
    files: &Files<'_>,
    tokenizer: &Json,
    stored: &[Json],
) -> Result<impl Fn(usize, &str) -> TokenType> {
    let mut base = Base::default();
    for (id, piece) in stored.iter().enumerate() {
        base.insert(text_and_score(piece)?.0, id as u64);
    }
    let added = Vocabulary::of(base, files)?.added;
    let stated = files.config.get("unk_token").and_then(Json::as_str);
    let unknown = added.iter().find(|token| Some(&*token.content) == stated).map(|one| one.id);
    let unknown = unknown.or(tokenizer["model"]["unk_id"].as_u64()).unwrap_or(3);
    let added: HashSet<String> = added.into_iter().map(|token| token.content).collect();
    let mut special: HashSet<String> = named(files).into_iter().collect();
    special.extend(ALWAYS.map(str::to_owned));
    Ok(move |id: usize, text: &str| match text {
        _ if id as u64 == unknown => TokenType::Unknown,
        _ if special.contains(text) => TokenType::Control,
        _ if added.contains(text) => TokenType::UserDefined,
        _ => TokenType::Normal,
    })
}

/// The table of letters, which is the whole normalizer.
fn characters(normalizer: &Json) -> Result<Vec<u8>> {
    let Some(text) = normalizer["precompiled_charsmap"].as_str() else {
        return Err(Error::unsupported(format!(
            "the normalizer of {TOKENIZER} is not a precompiled character map, which is the \
                 only supported kind"
        )));
    };
    decoded(text).ok_or_else(|| wrong(TOKENIZER, "the normalizer's character map is not base64"))
}
