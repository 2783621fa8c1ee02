//! The tokens of a model with their IDs, in one text.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value as Json;

use super::document::place;
use crate::error::{Error, Result};

/// Tokens in the order of the file.
#[derive(Default)]
pub(super) struct Words {
    text: String,
    /// Where each token ends, and its ID.
    ends: Vec<(u32, Option<u64>)>,
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_map(Reading)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Words;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tokens with their IDs")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Words, A::Error> {
        Words::read(map)
    }
}

/// The error of a list whose text is too long.
pub(super) fn too_long(error: &serde_json::Error) -> Error {
    Error::limit(error.to_string())
}

impl Words {
    pub fn read<'de, A: MapAccess<'de>>(mut map: A) -> std::result::Result<Self, A::Error> {
        let mut words = Self::default();
        while let Some((token, id)) = map.next_entry::<std::borrow::Cow<'de, str>, Json>()? {
            words.text.push_str(&token);
            words.ends.push((place(words.text.len())?, id.as_u64()));
        }
        words.text.shrink_to_fit();
        words.ends.shrink_to_fit();
        Ok(words)
    }

    /// Adds a token.
    pub fn push(&mut self, token: &str, id: Option<u64>) -> Result<()> {
        self.text.push_str(token);
        self.ends.push((
            place::<serde_json::Error>(self.text.len()).map_err(|error| too_long(&error))?,
            id,
        ));
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Tokens with their IDs; none for what is no ID.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<u64>)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, id)| {
            let end = end as usize;
            let token = self.text.get(start..end).unwrap_or_default();
            start = end;
            (token, id)
        })
    }
}
