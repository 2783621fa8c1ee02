//! The tokens of a file, in the order of their ids.

use std::collections::HashMap;

use super::metadata::{Metadata, needed};
use crate::error::{Error, Result};
use crate::text::shortened;
use crate::tokenizer::TOKENS;
use crate::tokenizer::files::MOST_TOKENS;
use crate::tokenizer::sentencepiece::NOBODY;
use crate::tokenizer::token_type::TokenType;

pub(super) const SCORES: &str = "tokenizer.ggml.scores";

/// How many tokens of a fault are named one by one.
const SHOWN: usize = 20;

pub(super) struct Token {
    pub text: String,
    pub kind: TokenType,
    /// Nothing in a vocabulary without scores.
    pub score: f32,
    /// Nobody has this id: it stands for a row of the embedding only.
    pub is_nobody: bool,
    /// It is looked for in a text before the text is split.
    pub is_added: bool,
    /// It has a name as a special token.
    pub is_named: bool,
    /// Spaces after it belong to it.
    pub takes_spaces: bool,
}

pub(super) struct Tokens(pub Vec<Token>);

impl Tokens {
    pub fn read(metadata: &Metadata<'_>) -> Result<Self> {
        let texts = needed(TOKENS, metadata.texts(TOKENS)?)?;
        if texts.len() as u64 > MOST_TOKENS {
            let count = texts.len();
            return Err(Error::limit(format!("implausible vocabulary size: {count} tokens")));
        }
        let kinds = metadata.numbers("tokenizer.ggml.token_type")?;
        let scores = metadata.scores(SCORES)?;
        as_many("types", kinds.as_deref(), texts.len())?;
        as_many("scores", scores.as_deref(), texts.len())?;
        let token = |(id, text): (usize, String)| {
            let number = kinds.as_ref().and_then(|all| all.get(id)).copied().unwrap_or(1);
            let kind = TokenType::of_number(number)
                .ok_or_else(|| Error::malformed(format!("token {id} has unknown type {number}")))?;
            let score = scores.as_ref().and_then(|all| all.get(id)).copied().unwrap_or_default();
            Ok(Token::new(id, text, kind, score))
        };
        Ok(Self(texts.into_iter().enumerate().map(token).collect::<Result<_>>()?))
    }

    /// A vocabulary has ids by texts: two tokens with one text cannot both be in it. Of those that
    /// somebody added, the first is kept, and the others are said to be left out.
    pub fn leave_out_twins(&mut self, not_carried: &mut Vec<String>) -> Result<()> {
        let mut seen: HashMap<&str, usize, foldhash::fast::RandomState> = HashMap::default();
        seen.reserve(self.0.len());
        let mut left_out = Vec::new();
        for (id, token) in self.present() {
            if token.is_added && token.text.is_empty() {
                return Err(Error::malformed(format!("added token {id} has no text")));
            }
            let Some(other) = seen.get(&*token.text) else {
                seen.insert(&token.text, id);
                continue;
            };
            let text = shortened(&token.text, 40);
            let message = format!("tokens {other} and {id} are both `{text}`");
            if !token.is_added {
                return Err(Error::unsupported(message));
            }
            left_out.push((id, message));
        }
        let more = left_out.len().saturating_sub(SHOWN);
        for (place, (id, message)) in left_out.into_iter().enumerate() {
            if place < SHOWN {
                not_carried.push(format!("{message}: the second is not copied"));
            }
            if let Some(token) = self.0.get_mut(id) {
                *token = Token::new(id, format!("[PAD{id}]"), TokenType::Unused, NOBODY);
            }
        }
        if more > 0 {
            not_carried.push(format!("{more} more duplicate tokens"));
        }
        Ok(())
    }

    /// The text of an id; empty if nobody has it.
    pub fn text(&self, id: usize) -> &str {
        self.0.get(id).map_or("", |token| &token.text)
    }

    /// All tokens that are somebody's, with their ids.
    pub fn present(&self) -> impl Iterator<Item = (usize, &Token)> {
        self.0.iter().enumerate().filter(|(_, token)| !token.is_nobody)
    }

    /// The end of all ids that are somebody's.
    pub fn end(&self) -> usize {
        self.0.iter().rposition(|token| !token.is_nobody).map_or(0, |last| last + 1)
    }

    /// The tokens of the model's own vocabulary, with their ids.
    pub fn inside(&self) -> impl Iterator<Item = (usize, &Token)> {
        let own = self.own();
        self.present().take_while(move |(id, _)| *id < own)
    }

    /// How many ids the model's own vocabulary has. Tokens that were added after it are outside,
    /// unless an id is missing anywhere: then each has to be in the vocabulary to have its own id.
    fn own(&self) -> usize {
        let all = self.end();
        let is_own = |token: &Token| !token.is_nobody && !token.is_added;
        let is_gapless = self.0.iter().take(all).all(|token| !token.is_nobody);
        if is_gapless { self.0.iter().rposition(is_own).map_or(0, |last| last + 1) } else { all }
    }
}

impl Token {
    pub fn new(id: usize, text: String, kind: TokenType, score: f32) -> Self {
        let filler = !matches!(kind, TokenType::Normal | TokenType::Control | TokenType::Byte);
        let is_nobody = filler && text == format!("[PAD{id}]");
        let is_added = !is_nobody
            && matches!(kind, TokenType::Control | TokenType::UserDefined | TokenType::Unknown);
        Self { text, kind, score, is_nobody, is_added, is_named: false, takes_spaces: false }
    }

    pub fn is_special(&self) -> bool {
        self.is_named || self.is_added && self.kind != TokenType::UserDefined
    }
}

fn as_many<T>(what: &str, list: Option<&[T]>, tokens: usize) -> Result<()> {
    match list {
        Some(list) if list.len() != tokens => {
            Err(Error::malformed(format!("{} {what} for {tokens} tokens", list.len())))
        }
        _ => Ok(()),
    }
}
