//! `tokenizer.json`. Vocabularies and merges are written from the tokens themselves: as a tree they
//! would take many times their size.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Value as Json, json};

use super::{Tokens, added};
use crate::error::{Error, Result};

/// The parts of the document.
pub(super) struct Document {
    pub normalizer: Json,
    pub pre_tokenizer: Json,
    pub post_processor: Json,
    pub decoder: Json,
    /// The model but for its vocabulary and its merges: an object.
    pub model: Json,
    pub vocabulary: Vocabulary,
    /// The ids of two tokens each.
    pub merges: Option<Vec<(usize, usize)>>,
}

/// What form a vocabulary has.
#[derive(Clone, Copy)]
pub(super) enum Vocabulary {
    /// Ids by texts.
    Ids,
    /// Texts with scores, in the order of their ids.
    Scores,
}

impl Document {
    /// Whether letters of tokens stand for bytes.
    pub fn is_byte_level(&self) -> bool {
        self.decoder["type"] == "ByteLevel"
    }

    pub fn written(&self, tokens: &Tokens) -> Result<Vec<u8>> {
        let mut text = serde_json::to_vec(&Whole(self, tokens))
            .map_err(|error| Error::malformed(format!("cannot be written as JSON: {error}")))?;
        text.push(b'\n');
        Ok(text)
    }
}

struct Whole<'a>(&'a Document, &'a Tokens);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self(document, tokens) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("version", "1.0")?;
        map.serialize_entry("truncation", &Json::Null)?;
        map.serialize_entry("padding", &Json::Null)?;
        map.serialize_entry("added_tokens", &added::listed(tokens, document.is_byte_level()))?;
        map.serialize_entry("normalizer", &document.normalizer)?;
        map.serialize_entry("pre_tokenizer", &document.pre_tokenizer)?;
        map.serialize_entry("post_processor", &document.post_processor)?;
        map.serialize_entry("decoder", &document.decoder)?;
        map.serialize_entry("model", &Model(document, tokens))?;
        map.end()
    }
}

struct Model<'a>(&'a Document, &'a Tokens);

impl Serialize for Model<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self(document, tokens) = self;
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in document.model.as_object().into_iter().flatten() {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("vocab", &Listed(document.vocabulary, tokens))?;
        if let Some(merges) = &document.merges {
            map.serialize_entry("merges", &Merges(merges, tokens))?;
        }
        map.end()
    }
}

struct Listed<'a>(Vocabulary, &'a Tokens);

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self(form, tokens) = self;
        match form {
            Vocabulary::Ids => {
                serializer.collect_map(tokens.inside().map(|(id, token)| (&token.text, id)))
            }
            // Ids are places in a list, so that none can be left out before the last.
            Vocabulary::Scores => {
                let all = tokens.0.iter().take(tokens.end());
                serializer.collect_seq(all.map(|token| (&token.text, f64::from(token.score))))
            }
        }
    }
}

struct Merges<'a>(&'a [(usize, usize)], &'a Tokens);

impl Serialize for Merges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(a, b)| (self.1.text(*a), self.1.text(*b))))
    }
}

/// A model of byte pairs.
pub(super) fn pairs(
    tokens: &Tokens,
    unknown: Option<usize>,
    falls_back: bool,
    ignores_merges: bool,
) -> Json {
    let unknown = unknown.and_then(|id| tokens.0.get(id)).map(|token| &token.text);
    json!({
        "type": "BPE",
        "dropout": null,
        "unk_token": unknown,
        "continuing_subword_prefix": null,
        "end_of_word_suffix": null,
        "fuse_unk": unknown.is_some(),
        "byte_fallback": falls_back,
        "ignore_merges": ignores_merges,
    })
}
