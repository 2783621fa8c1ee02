//! SentencePiece: pieces, scores and types of `tokenizer.model`, and tokens that other files add.

use std::collections::HashSet;
use std::path::Path;

use serde_json::Value as Json;

use super::files::{MODEL, content_of};
use super::protobuf::{Field, Message};
use super::vocabulary::beyond;
use super::{Beyond, CONFIG, Entries, Files, KINDS, Special, TOKENIZER, TokenType, sound, wrong};
use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::text::shortened;

/// Scores of ids that nobody has, and of added tokens.
pub(super) const NOBODY: f32 = -10000.0;
pub(super) const ADDED: f32 = -1000.0;

/// The file with ids of added tokens by texts.
pub(super) const ADDED_TOKENS: &str = "added_tokens.json";

/// One piece of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub text: String,
    pub score: f32,
    pub kind: TokenType,
}

impl Piece {
    /// What stands for an id that nobody has.
    pub fn nobody(id: usize) -> Self {
        Self { text: format!("[PAD{id}]"), score: NOBODY, kind: TokenType::Unused }
    }

    /// Writes all tokens of a model of this name.
    pub fn write(pieces: Vec<Self>, model: &str, entries: &mut Entries) {
        entries.text("tokenizer.ggml.model", model);
        entries.text("tokenizer.ggml.pre", "default");
        let scores = pieces.iter().map(|piece| Value::F32(piece.score)).collect();
        let tokens = pieces.into_iter().map(|piece| (piece.text, piece.kind));
        TokenType::write(entries, tokens, Some(scores));
    }
}

pub(super) fn is_there(files: &Files<'_>) -> Result<bool> {
    Ok((files.repository.files)(MODEL)?.is_some())
}

/// Writes the tokenizer of a file of SentencePiece.
pub(super) fn write(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    with_configured(files)?.write(files, entries)
}

/// The pieces, with the added tokens of `tokenizer_config.json`.
pub(super) fn with_configured(files: &Files<'_>) -> Result<Tokens> {
    let mut tokens = Tokens::read(files)?;
    for (id, token) in files.tokens_by_id()? {
        let Some(place) = tokens.place(id) else { continue };
        let (text, kind) = TokenType::of_added(content(token, CONFIG)?, token["special"] == true);
        *place = Piece { text, score: ADDED, kind };
    }
    Ok(tokens)
}

/// Writes Phi-3's tokenizer, which takes added tokens unchanged and from one more file.
pub(super) fn write_phi3(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let mut tokens = Tokens::read(files)?;
    tokens.replace_added(files)?;
    tokens.write(files, entries)
}

/// The added tokens of all files, and the names of these.
fn all_added<'a>(files: &'a Files<'_>) -> Result<Vec<(u64, &'a Json, &'static str)>> {
    let by_id = files.tokens_by_id()?.into_iter();
    let mut added: Vec<_> = by_id.map(|(id, token)| (id, token, CONFIG)).collect();
    if let Some(tokenizer) = &files.tokenizer {
        sound::check_added(tokenizer)?;
    }
    for token in files.added_tokens() {
        let no_id = || wrong(TOKENIZER, "an added token has no ID");
        added.push((token["id"].as_u64().ok_or_else(no_id)?, token, TOKENIZER));
    }
    Ok(added)
}

/// Writes Arctic's tokenizer. Another file redefines some of its pieces, as they are in the file.
pub(super) fn write_redefined(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let mut tokens = Tokens::bare(stored(files)?, files);
    for (id, token) in files.tokens_by_id()? {
        let Some(place) = tokens.place(id) else { continue };
        let text = content(token, CONFIG)?;
        let is_unknown = files.config.get("unk_token").and_then(content_of) == Some(text.as_str());
        let (kind, score) = match (token["special"] == true, is_unknown) {
            (false, _) => (TokenType::UserDefined, NOBODY),
            (true, true) => (TokenType::Unknown, 0.0),
            (true, false) => (TokenType::Control, 0.0),
        };
        *place = Piece { text, score, kind };
    }
    tokens.write(files, entries)
}

/// The pieces of the file.
fn stored(files: &Files<'_>) -> Result<Vec<Piece>> {
    let Some(bytes) = (files.repository.files)(MODEL)? else {
        return Err(Error::unsupported(format!("the repository has no {MODEL}")));
    };
    pieces(&bytes).map_err(|error| error.in_file(Path::new(MODEL)))
}

/// One token for every row of the embedding.
pub(super) struct Tokens(pub Vec<Piece>);

impl Tokens {
    /// The pieces, and the tokens of `added_tokens.json`.
    pub fn read(files: &Files<'_>) -> Result<Self> {
        Self::of(stored(files)?, files)
    }

    /// These pieces, and the tokens of `added_tokens.json`.
    pub fn of(pieces: Vec<Piece>, files: &Files<'_>) -> Result<Self> {
        let mut tokens = Self::bare(pieces, files);
        tokens.add_by_text(files)?;
        Ok(tokens)
    }

    /// These pieces.
    fn bare(pieces: Vec<Piece>, files: &Files<'_>) -> Self {
        let count = match files.vocabulary() {
            0 => pieces.len(),
            count => count,
        };
        let mut all: Vec<Piece> = (0..count).map(Piece::nobody).collect();
        for (place, piece) in all.iter_mut().zip(pieces) {
            *place = piece;
        }
        Self(all)
    }

    /// Puts the added tokens of all files in their places, unchanged.
    pub fn replace_added(&mut self, files: &Files<'_>) -> Result<()> {
        for (id, token, file) in all_added(files)? {
            let text = content(token, file)?;
            let count = self.0.len();
            let Some(place) = self.place(id) else { return Err(beyond(&text, id, count)) };
            let kind =
                if token["special"] == true { TokenType::Control } else { TokenType::UserDefined };
            *place = Piece { text, score: ADDED, kind };
        }
        Ok(())
    }

    fn place(&mut self, id: u64) -> Option<&mut Piece> {
        self.0.get_mut(usize::try_from(id).ok()?)
    }

    /// Tokens of `added_tokens.json`, which has ids by texts.
    fn add_by_text(&mut self, files: &Files<'_>) -> Result<()> {
        const FILE: &str = ADDED_TOKENS;
        let added = files.json(FILE)?.unwrap_or_default();
        for (text, id) in added.as_object().into_iter().flatten() {
            let no_id = || wrong(FILE, format!("token `{}` has no ID", shortened(text, 40)));
            if let Some(place) = self.place(id.as_u64().ok_or_else(no_id)?) {
                *place = Piece { text: text.clone(), score: ADDED, kind: TokenType::UserDefined };
            }
        }
        Ok(())
    }

    fn write(self, files: &Files<'_>, entries: &mut Entries) -> Result<()> {
        let count = self.0.len();
        Piece::write(self.0, "llama", entries);
        Special::read(files, &KINDS, Beyond::LeaveOut(count))?.write(entries)
    }
}

fn content(token: &Json, file: &str) -> Result<String> {
    let text = token["content"].as_str().map(str::to_owned);
    text.ok_or_else(|| wrong(file, "an added token has no text"))
}

/// All pieces of the file. No text may be there twice, and exactly one piece stands for the unknown.
pub(super) fn pieces(bytes: &[u8]) -> Result<Vec<Piece>> {
    let (mut found, mut seen, mut unknown) = (Vec::new(), HashSet::new(), false);
    let mut message = Message::new(bytes, 0);
    while let Some((number, field)) = message.next()? {
        let (1, Field::Bytes(inner, start)) = (number, field) else { continue };
        let (text, score, kind) = piece(inner, start)?;
        let refused = |reason: &str| {
            Err(Error::malformed(format!("piece `{}` {reason}", shortened(text, 40)))
                .at(start as u64))
        };
        if text.is_empty() {
            return refused("is empty");
        }
        if !seen.insert(text) {
            return refused("occurs twice");
        }
        if kind == TokenType::Unknown && std::mem::replace(&mut unknown, true) {
            return refused("is a second unknown piece");
        }
        found.push(Piece { text: text.to_owned(), score, kind });
    }
    if unknown {
        Ok(found)
    } else {
        Err(Error::malformed("there is no unknown piece").at(bytes.len() as u64))
    }
}

fn piece(bytes: &[u8], start: usize) -> Result<(&str, f32, TokenType)> {
    let (mut text, mut score, mut kind) = ("", 0.0, TokenType::Normal);
    let mut message = Message::new(bytes, start);
    while let Some((number, field)) = message.next()? {
        match (number, field) {
            (1, Field::Bytes(bytes, at)) => {
                text = std::str::from_utf8(bytes).map_err(|error| {
                    Error::malformed("a piece is not UTF-8").at((at + error.valid_up_to()) as u64)
                })?;
            }
            (2, Field::Float(value)) => score = value,
            (3, Field::Number(value)) => kind = kind_of(value).unwrap_or(kind),
            _ => {}
        }
    }
    Ok((text, score, kind))
}

/// The type that SentencePiece gives a number. Pieces that the user defined are ordinary ones to the
/// converter; numbers without a meaning are as good as absent.
fn kind_of(number: u64) -> Option<TokenType> {
    match TokenType::of_number(number)? {
        TokenType::UserDefined => Some(TokenType::Normal),
        kind => Some(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let mut file = Vec::new();
        for (text, score, kind) in [("<unk>", 0.0f32, 2), ("▁a", -1.5, 1), ("<0x0A>", 0.0, 6)] {
            let mut piece = vec![0x0a, u8::try_from(text.len()).unwrap()];
            piece.extend(text.as_bytes());
            piece.push(0x15);
            piece.extend(score.to_le_bytes());
            piece.extend([0x18, kind]);
            file.extend([0x0a, u8::try_from(piece.len()).unwrap()]);
            file.extend(piece);
        }
        // A trainer's message, which nobody looks at.
        file.extend([0x12, 2, 0xff, 0xff]);
        file
    }

    #[test]
    fn pieces_are_read() {
        let found = pieces(&file()).unwrap();
        let kinds: Vec<_> =
            found.iter().map(|piece| (&*piece.text, piece.score, piece.kind)).collect();
        let expected = [
            ("<unk>", 0.0, TokenType::Unknown),
            ("▁a", -1.5, TokenType::Normal),
            ("<0x0A>", 0.0, TokenType::Byte),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn cut_and_damaged_files_do_no_harm() {
        let whole = file();
        for end in 0..whole.len() {
            match pieces(&whole[..end]) {
                Ok(found) => assert!(found.len() <= 3),
                Err(error) => assert!(error.offset().is_some_and(|at| at <= end as u64), "{error}"),
            }
            for byte in 0..=u8::MAX {
                let mut damaged = whole.clone();
                damaged[end] = byte;
                let _ = pieces(&damaged);
            }
        }
    }

    #[test]
    fn what_sentencepiece_refuses_is_refused() {
        let mut twice = file();
        twice.extend(file());
        assert_eq!(pieces(&twice).unwrap_err().message(), "piece `<unk>` occurs twice");
        assert_eq!(pieces(&[]).unwrap_err().message(), "there is no unknown piece");
    }
}
