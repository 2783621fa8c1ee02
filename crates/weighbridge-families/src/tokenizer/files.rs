//! The files of a repository that say something about its tokenizer, read and parsed.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::document::Document;
use super::{Repository, in_parts};
use crate::config;
use crate::error::{Error, Result};
use crate::text::shortened;

pub(super) const TOKENIZER: &str = "tokenizer.json";
pub(super) const CONFIG: &str = "tokenizer_config.json";
pub(super) const MODEL: &str = "tokenizer.model";

/// Types of models whose classes tell two kinds of tokens apart where a config is silent.
const TWO_KINDS: [&str; 3] = ["bert", "roberta", "xlm-roberta"];

/// More tokens than any vocabulary has: a config that asks for more is not believed.
pub(super) const MOST_TOKENS: u64 = 1 << 22;

/// What all ways of reading a tokenizer look at.
pub(super) struct Files<'a> {
    pub repository: &'a Repository<'a>,
    /// `tokenizer.json`.
    pub tokenizer: Option<Document>,
    /// `tokenizer_config.json`; empty if it is not there.
    pub config: Map<String, Json>,
}

impl<'a> Files<'a> {
    pub fn open(repository: &'a Repository<'a>) -> Result<Self> {
        if repository.vocabulary > MOST_TOKENS {
            let tokens = repository.vocabulary;
            return Err(Error::limit(format!("implausible vocabulary size: {tokens} tokens")));
        }
        let tokenizer: Option<Document> = parsed(repository, TOKENIZER)?;
        if tokenizer.as_ref().is_some_and(|json| !json.is_object()) {
            return Err(not_an_object(TOKENIZER));
        }
        let mut config = match parsed(repository, CONFIG)? {
            None => Map::new(),
            Some(Json::Object(map)) => map,
            Some(_) => return Err(not_an_object(CONFIG)),
        };
        let tokenizer = match tokenizer {
            None => in_parts::document(repository, &mut config)?,
            whole => whole,
        };
        Ok(Self { repository, tokenizer, config })
    }

    /// The document that a tokenizer without a file of SentencePiece is read from.
    pub fn need_tokenizer(&self) -> Result<&Document> {
        let missing = || Error::unsupported(format!("the repository has no {TOKENIZER}"));
        self.tokenizer.as_ref().ok_or_else(missing)
    }

    /// What `tokenizer.json` lists as added; nothing without that file.
    pub fn added_tokens(&self) -> impl Iterator<Item = &Json> {
        let listed = self.tokenizer.as_ref().and_then(|json| json["added_tokens"].as_array());
        listed.into_iter().flatten()
    }

    /// Added tokens of `tokenizer_config.json`, in its order.
    pub fn tokens_by_id(&self) -> Result<Vec<(u64, &Json)>> {
        let decoder = self.config.get("added_tokens_decoder").and_then(Json::as_object);
        let parsed = |id: &str| {
            let not_an_id = |_| wrong(CONFIG, format!("`{}` is not a token ID", shortened(id, 40)));
            id.parse().map_err(not_an_id)
        };
        decoder.into_iter().flatten().map(|(id, token)| Ok((parsed(id)?, token))).collect()
    }

    pub fn json(&self, name: &str) -> Result<Option<Json>> {
        parsed(self.repository, name)
    }

    /// A text, in which every kind of line break is a line feed.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        text(self.repository, name)
    }

    /// How many kinds of tokens an encoder tells apart; one where neither its config nor its class says.
    pub fn token_types(&self) -> u64 {
        let config = self.repository.config;
        let has_two = config["model_type"].as_str().is_some_and(|name| TWO_KINDS.contains(&name));
        config["type_vocab_size"].as_u64().unwrap_or(if has_two { 2 } else { 1 })
    }

    /// How many tokens there are, which fits since it was looked at on opening.
    pub fn vocabulary(&self) -> usize {
        usize::try_from(self.repository.vocabulary).unwrap_or(0)
    }
}

/// A text beside the weights, in which every kind of line break is a line feed.
pub(super) fn text(repository: &Repository<'_>, name: &str) -> Result<Option<String>> {
    let Some(bytes) = (repository.files)(name)? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|error| {
        wrong(name, "it is not UTF-8").at(error.utf8_error().valid_up_to() as u64)
    })?;
    Ok(Some(text.replace("\r\n", "\n").replace('\r', "\n")))
}

/// The steps of something that is one step, or has several under a key.
pub(super) fn steps_of<'a>(whole: &'a Json, key: &str) -> &'a [Json] {
    whole[key].as_array().map_or(std::slice::from_ref(whole), Vec::as_slice)
}

/// The text of a token that a file names, with or without flags.
pub(super) fn content_of(token: &Json) -> Option<&str> {
    token.as_str().or_else(|| token["content"].as_str())
}

/// A JSON document beside the weights, if it is there.
pub(super) fn parsed<T: DeserializeOwned>(
    repository: &Repository<'_>,
    name: &str,
) -> Result<Option<T>> {
    let Some(bytes) = (repository.files)(name)? else { return Ok(None) };
    config::parse_as(&bytes).map(Some).map_err(|error| error.in_file(Path::new(name)))
}

fn not_an_object(name: &str) -> Error {
    wrong(name, "it is not a JSON object")
}

/// A file of the repository breaks a rule.
pub(super) fn wrong(name: &str, message: impl Into<String>) -> Error {
    Error::malformed(message).in_file(Path::new(name))
}
