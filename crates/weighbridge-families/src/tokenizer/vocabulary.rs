//! The tokens of `tokenizer.json`: those of its model, and those that were added to it.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::Value as Json;

use super::document::Document;
use super::files::{CONFIG, Files, TOKENIZER, content_of, wrong};
use super::sound;
use super::special::KINDS;
use crate::error::{Error, Result};
use crate::text::shortened;

/// A token that was added to the vocabulary of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub id: u64,
    pub content: String,
    pub special: bool,
    pub normalized: bool,
}

/// Tokens of a model with their IDs, by a fast hash with a seed: their texts come from files.
pub(super) type Base<'a> = HashMap<&'a str, u64, RandomState>;

pub(super) struct Vocabulary<'a> {
    pub files: &'a Files<'a>,
    /// `tokenizer.json`.
    pub tokenizer: &'a Document,
    /// Tokens of the model, by their text.
    pub base: Base<'a>,
    pub added: Vec<Added>,
    /// Where in `added` a text is.
    places: HashMap<String, usize>,
    /// The id of the next token that is added.
    next: u64,
}

impl<'a> Vocabulary<'a> {
    pub fn read(files: &'a Files<'_>) -> Result<Self> {
        Self::of(base(files.need_tokenizer()?)?, files)
    }

    /// The tokens of a model, with those that files add to it.
    pub fn of(base: Base<'a>, files: &'a Files<'_>) -> Result<Self> {
        let (tokenizer, next) = (files.need_tokenizer()?, base.len() as u64);
        sound::check_added(tokenizer)?;
        let (added, places) = (Vec::new(), HashMap::new());
        let mut vocabulary = Self { files, tokenizer, base, added, places, next };
        for token in tokenizer["added_tokens"].as_array().into_iter().flatten() {
            let stated = token["id"].as_u64();
            vocabulary.add(flags(token, TOKENIZER)?, stated, TOKENIZER)?;
        }
        vocabulary.add_configured()?;
        Ok(vocabulary)
    }

    /// What `tokenizer_config.json` adds: tokens by their ids, then special tokens by name, which are
    /// added if nobody else did so.
    fn add_configured(&mut self) -> Result<()> {
        let mut listed = self.files.tokens_by_id()?;
        listed.sort_by_key(|(id, _)| *id);
        for (id, token) in listed {
            self.add(flags(token, CONFIG)?, Some(id), CONFIG)?;
        }
        for content in named(self.files) {
            if !self.is_added(&content) {
                let token = Added { id: 0, content, special: true, normalized: false };
                self.add(token, None, CONFIG)?;
            }
        }
        Ok(())
    }

    /// Adds a token, or changes one that is there. It has the id of its text in the model's
    /// vocabulary, or else the next one: what a file states has to agree with that.
    fn add(&mut self, mut token: Added, stated: Option<u64>, file: &str) -> Result<()> {
        if token.content.is_empty() {
            return Ok(());
        }
        let known = self.places.get(&token.content).copied();
        token.id = match (known, self.base.get(&*token.content)) {
            (Some(known), _) => self.added[known].id,
            (None, Some(id)) => *id,
            (None, None) => self.next,
        };
        if let Some(stated) = stated.filter(|stated| *stated != token.id) {
            let content = shortened(&token.content, 40);
            let message = format!(
                "added token `{content}` has ID {stated}, but its position is {}",
                token.id
            );
            return Err(wrong(file, message));
        }
        self.next = self.next.max(token.id.saturating_add(1));
        match known {
            Some(known) => self.added[known] = token,
            None => {
                self.places.insert(token.content.clone(), self.added.len());
                self.added.push(token);
            }
        }
        Ok(())
    }

    pub fn is_added(&self, text: &str) -> bool {
        self.places.contains_key(text)
    }

    /// Every id of the model's vocabulary and of the added tokens with its token, in the order of ids.
    /// Two tokens cannot have the same one.
    pub fn by_id(&self, tokens: usize) -> Result<Vec<Option<Token<'_>>>> {
        let mut all: Vec<Option<Token<'_>>> = vec![None; tokens];
        let mut base: Vec<_> =
            self.base.iter().map(|(text, id)| (*id, Token::Base(text))).collect();
        // In an order that does not change, since the first that is wrong is named.
        base.sort_unstable_by_key(|(id, token)| (*id, token.text()));
        // An added token stands for the model's token of the same text.
        let added = self.added.iter().map(|token| (token.id, Token::Added(token)));
        for (id, token) in base.into_iter().chain(added) {
            let place = usize::try_from(id).ok().and_then(|id| all.get_mut(id));
            let Some(place) = place else { return Err(beyond(token.text(), id, tokens)) };
            match place {
                Some(known) if known.text() != token.text() => {
                    let (a, b) = (shortened(known.text(), 40), shortened(token.text(), 40));
                    let message = format!("tokens `{a}` and `{b}` have the same ID {id}");
                    return Err(wrong(TOKENIZER, message));
                }
                _ => *place = Some(token),
            }
        }
        Ok(all)
    }
}

#[derive(Clone, Copy)]
pub(super) enum Token<'a> {
    Base(&'a str),
    Added(&'a Added),
}

impl<'a> Token<'a> {
    pub fn text(self) -> &'a str {
        match self {
            Self::Base(text) => text,
            Self::Added(token) => &token.content,
        }
    }
}

/// A token whose id is past the end of the vocabulary.
pub(super) fn beyond(text: &str, id: u64, tokens: usize) -> Error {
    let text = shortened(text, 40);
    let message = format!("token `{text}` has ID {id}, but the model has {tokens} tokens");
    wrong(TOKENIZER, message)
}

fn base(tokenizer: &Document) -> Result<Base<'_>> {
    let Some(words) = &tokenizer.words else {
        return Err(wrong(TOKENIZER, "its model has no vocabulary keyed by token"));
    };
    let mut base = Base::with_capacity_and_hasher(words.len(), RandomState::default());
    for (text, id) in words.iter() {
        let no_id = || format!("token `{}` has no ID", shortened(text, 40));
        base.insert(text, id.ok_or_else(|| wrong(TOKENIZER, no_id()))?);
    }
    Ok(base)
}

fn flags(token: &Json, file: &str) -> Result<Added> {
    let Some(content) = token["content"].as_str() else {
        return Err(wrong(file, "an added token has no text"));
    };
    let special = token["special"].as_bool().unwrap_or(false);
    let normalized = token["normalized"].as_bool().unwrap_or(!special);
    Ok(Added { id: 0, content: content.to_owned(), special, normalized })
}

/// Texts of the special tokens that `tokenizer_config.json` names.
pub(super) fn named(files: &Files<'_>) -> Vec<String> {
    let text = |token: &Json| content_of(token).map(str::to_owned);
    let kinds = KINDS.iter().filter_map(|kind| files.config.get(&format!("{kind}_token")));
    let mut all: Vec<String> = kinds.filter_map(text).collect();
    for key in ["additional_special_tokens", "extra_special_tokens"] {
        match files.config.get(key) {
            Some(Json::Array(tokens)) => all.extend(tokens.iter().filter_map(text)),
            Some(Json::Object(tokens)) => all.extend(tokens.values().filter_map(text)),
            _ => {}
        }
    }
    all
}
