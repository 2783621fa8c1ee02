//! SentencePiece's own file, `tokenizer.model`: a message of protocol buffers with all pieces, and what
//! its trainer and its normalizer would have said.

use std::collections::HashSet;

use super::{Special, Token, Tokens};
use crate::error::{Error, Result};
use crate::tokenizer::token_type::TokenType;

/// Numbers of the fields that are written, as SentencePiece has them.
mod field {
    pub(super) const PIECES: u64 = 1;
    pub(super) const TRAINER: u64 = 2;
    pub(super) const NORMALIZER: u64 = 3;
    pub(super) const TEXT: u64 = 1;
    pub(super) const SCORE: u64 = 2;
    pub(super) const KIND: u64 = 3;
    pub(super) const MODEL_TYPE: u64 = 3;
    pub(super) const VOCABULARY: u64 = 4;
    pub(super) const BYTE_FALLBACK: u64 = 35;
    pub(super) const UNKNOWN_ID: u64 = 40;
    pub(super) const BEGIN_ID: u64 = 41;
    pub(super) const END_ID: u64 = 42;
    pub(super) const PAD_ID: u64 = 43;
    /// Texts of the four have numbers that much higher.
    pub(super) const ID_TO_TEXT: u64 = 5;
    pub(super) const NAME: u64 = 1;
    pub(super) const LETTERS: u64 = 2;
    pub(super) const PREFIX: u64 = 3;
    pub(super) const FEWER_SPACES: u64 = 4;
}

/// How pieces are chosen, and what is done to a text before.
pub(super) struct Around {
    /// SentencePiece's number: [`Around::UNIGRAM`] or [`Around::BYTE_PAIRS`].
    pub kind: u64,
    pub begins_with_a_space: bool,
    pub fewer_spaces: bool,
    /// Which letters are replaced by which, as SentencePiece compiles it.
    pub letters: Option<Vec<u8>>,
}

impl Around {
    pub const UNIGRAM: u64 = 1;
    pub const BYTE_PAIRS: u64 = 2;
}

/// The file. `unknown` is the one token that stands for the unknown.
pub(super) fn of(
    tokens: &Tokens,
    special: &Special,
    unknown: usize,
    around: &Around,
) -> Result<Vec<u8>> {
    let end = tokens.end();
    let mut file = Message::default();
    let mut texts = HashSet::new();
    let plain: HashSet<&str> = tokens.0.iter().map(|token| &*token.text).collect();
    for (id, token) in tokens.0.iter().enumerate().take(end) {
        let piece = piece(token, id == unknown, &plain);
        if piece.0.is_empty() || !texts.insert(piece.0.clone()) {
            return Err(Error::unsupported(format!("token {id} has no text of its own")));
        }
        file.message(field::PIECES, &written(piece));
    }
    let mut trainer = Message::default();
    trainer.number(field::MODEL_TYPE, around.kind);
    trainer.0.extend(ids(tokens, special, unknown, end).0);
    file.message(field::TRAINER, &trainer);
    file.message(field::NORMALIZER, &normalizer(around));
    Ok(file.0)
}

fn normalizer(around: &Around) -> Message {
    let mut normalizer = Message::default();
    let name: &[u8] = if around.letters.is_some() { b"user_defined" } else { b"identity" };
    normalizer.bytes(field::NAME, name);
    if let Some(letters) = &around.letters {
        normalizer.bytes(field::LETTERS, letters);
    }
    normalizer.number(field::PREFIX, around.begins_with_a_space.into());
    normalizer.number(field::FEWER_SPACES, around.fewer_spaces.into());
    normalizer
}

/// Text, score and type. Spaces of an added token are marks here, if nobody else has that text.
fn piece(token: &Token, is_unknown: bool, plain: &HashSet<&str>) -> (String, f32, TokenType) {
    if is_unknown {
        return (token.text.clone(), 0.0, TokenType::Unknown);
    }
    let marked = token.text.replace(' ', "▁");
    let text = if plain.contains(&*marked) { token.text.clone() } else { marked };
    // There is one that stands for the unknown.
    let is_unused = token.is_nobody || token.kind == TokenType::Unknown;
    (text, token.score, if is_unused { TokenType::Unused } else { token.kind })
}

fn written((text, score, kind): (String, f32, TokenType)) -> Message {
    let mut piece = Message::default();
    piece.bytes(field::TEXT, text.as_bytes());
    piece.float(field::SCORE, score);
    if kind != TokenType::Normal {
        piece.number(field::KIND, kind as u64);
    }
    piece
}

/// What the trainer says of tokens.
fn ids(tokens: &Tokens, special: &Special, unknown: usize, end: usize) -> Message {
    let mut trainer = Message::default();
    trainer.number(field::VOCABULARY, end as u64);
    let bytes = tokens.0.iter().filter(|token| token.kind == TokenType::Byte).count();
    trainer.number(field::BYTE_FALLBACK, u64::from(bytes == 256));
    let ids = [
        (field::UNKNOWN_ID, Some(unknown)),
        (field::BEGIN_ID, special.id("bos")),
        (field::END_ID, special.id("eos")),
        (field::PAD_ID, special.id("pad")),
    ];
    for (field, id) in ids {
        // Minus one, where there is none.
        trainer.number(field, id.map_or(u64::MAX, |id| id as u64));
        if let Some(token) = id.and_then(|id| tokens.0.get(id)) {
            trainer.bytes(field + field::ID_TO_TEXT, token.text.as_bytes());
        }
    }
    trainer
}

/// A message being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push((value & 0x7f) as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn float(&mut self, field: u64, value: f32) {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }
}
