//! `tokenizer.json`, without a value for each of its tokens.
//!
//! A vocabulary has hundreds of thousands of tokens and merges. As JSON values each takes ten times its
//! text, and a repository would need more memory for its tokenizer than for its weights. Here the tokens are
//! one text, and so are the merges; everything else is JSON.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

use super::merges::Merges;
use super::words::Words;

/// The document. As JSON it has neither the merges nor a vocabulary that is an object.
pub(super) struct Document {
    json: Json,
    /// The tokens of the model, if its vocabulary is an object.
    pub words: Option<Words>,
    /// The merges of the model, if it has a list of them.
    pub merges: Option<Merges>,
}

impl Document {
    /// One that was made.
    pub fn of(json: Json, words: Words, merges: Option<Merges>) -> Self {
        Self { json, words: Some(words), merges }
    }
}

impl Deref for Document {
    type Target = Json;

    fn deref(&self) -> &Json {
        &self.json
    }
}

impl DerefMut for Document {
    fn deref_mut(&mut self) -> &mut Json {
        &mut self.json
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (json, parts) = from.deserialize_any(Level::Document)?;
        Ok(Self { json, words: parts.words, merges: parts.merges })
    }
}

/// What is taken out of the model.
#[derive(Default)]
pub(super) struct Parts {
    words: Option<Words>,
    merges: Option<Merges>,
}

/// What an object or a list is read as.
#[derive(Clone, Copy)]
enum Level {
    Document,
    Model,
    Vocabulary,
    Merges,
}

impl Level {
    /// What the value of a key is read as; none for plain JSON.
    fn of(self, key: &str) -> Option<Self> {
        match (self, key) {
            (Self::Document, "model") => Some(Self::Model),
            (Self::Model, "vocab") => Some(Self::Vocabulary),
            (Self::Model, "merges") => Some(Self::Merges),
            _ => None,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = (Json, Parts);

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

/// Values that are neither an object nor a list are what they are in JSON.
macro_rules! plain {
    ($($visit:ident($kind:ty)),*) => {
        $(fn $visit<E>(self, value: $kind) -> Result<Self::Value, E> {
            Ok((Json::from(value), Parts::default()))
        })*
    };
}

impl<'de> Visitor<'de> for Level {
    type Value = (Json, Parts);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    plain!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok((Json::Null, Parts::default()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        if matches!(self, Self::Vocabulary) {
            let words = Some(Words::read(map)?);
            return Ok((Json::Null, Parts { words, merges: None }));
        }
        let (mut json, mut parts) = (Map::new(), Parts::default());
        while let Some(key) = map.next_key::<String>()? {
            let Some(level) = self.of(&key) else {
                json.insert(key, map.next_value()?);
                continue;
            };
            let (value, found) = map.next_value_seed(level)?;
            match level {
                Self::Vocabulary => parts.words = found.words,
                Self::Merges => parts.merges = found.merges,
                _ => parts = found,
            }
            json.insert(key, value);
        }
        Ok((json.into(), parts))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        if matches!(self, Self::Merges) {
            let merges = Some(Merges::read(list)?);
            return Ok((Json::Null, Parts { words: None, merges }));
        }
        let mut all = Vec::new();
        while let Some(one) = list.next_element::<Json>()? {
            all.push(one);
        }
        Ok((all.into(), Parts::default()))
    }
}

/// A place in a text, which is never longer than 4 GiB.
pub(super) fn place<E: serde::de::Error>(at: usize) -> Result<u32, E> {
    u32::try_from(at).map_err(|_| E::custom("the vocabulary is larger than 4 GiB"))
}

#[cfg(test)]
impl From<Json> for Document {
    fn from(json: Json) -> Self {
        serde_json::from_value(json).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_and_merges_are_taken_out() {
        let document = Document::from(json!({
            "model": { "type": "BPE", "vocab": { "b": 1, "a": 0, "x": null }, "merges": ["a b", ["a", "b "], 3] },
            "added_tokens": [{ "id": 2 }],
        }));
        let words: Vec<_> = document.words.as_ref().unwrap().iter().collect();
        assert_eq!(words, [("b", Some(1)), ("a", Some(0)), ("x", None)]);
        let merges = document.merges.as_ref().unwrap();
        let parts: Vec<_> = merges.iter().map(crate::tokenizer::merges::Merge::parts).collect();
        assert_eq!(parts, [Some(("a", "b")), Some(("a", "b ")), None]);
        assert_eq!(
            (&document["model"]["type"], &document["model"]["vocab"]),
            (&json!("BPE"), &Json::Null)
        );
        assert_eq!(document["added_tokens"][0]["id"], 2);
    }

    #[test]
    fn documents_of_other_forms_stay_json() {
        for odd in [json!([1, "a"]), json!(3), json!(null), json!({ "model": 4.5 })] {
            assert_eq!(*Document::from(odd.clone()), odd);
        }
        let pieces = json!({ "model": { "vocab": [["a", -1.5]], "merges": "none" } });
        let document = Document::from(pieces.clone());
        assert_eq!((&*document, document.words.is_none()), (&pieces, true));
        assert!(document.merges.is_none());
    }
}
