//! The merges of a byte-pair model, in one text.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::Value as Json;

use super::document::place;
use super::words::too_long;

/// Merges in the order of the file, the first learned first.
#[derive(Default)]
pub(super) struct Merges {
    text: String,
    /// Where each merge ends, and what it is.
    ends: Vec<(u32, Form)>,
    /// What is no merge, as it is.
    odd: Vec<Json>,
}

#[derive(Clone, Copy)]
enum Form {
    /// A text with a space between its parts.
    Text,
    /// A list of two texts, the first of which ends there.
    Pair(u32),
    /// Something else: where in the list of odd ones it is.
    Odd(u32),
}

/// A merge.
#[derive(Clone, Copy)]
pub(super) enum Merge<'a> {
    /// A text with a space between its parts.
    Text(&'a str),
    /// A list of two texts.
    Pair(&'a str, &'a str),
    /// Something else.
    Odd(&'a Json),
}

impl<'a> Merge<'a> {
    /// Its two parts, in either form.
    pub fn parts(self) -> Option<(&'a str, &'a str)> {
        match self {
            Self::Text(text) => text.split_once(' '),
            Self::Pair(first, second) => Some((first, second)),
            Self::Odd(_) => None,
        }
    }

    /// The merge as the file has it.
    pub fn to_json(self) -> Json {
        match self {
            Self::Text(text) => text.into(),
            Self::Pair(first, second) => vec![first, second].into(),
            Self::Odd(json) => json.clone(),
        }
    }
}

impl Merges {
    pub fn read<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut merges = Self::default();
        while let Some(one) = list.next_element::<Read>()? {
            let form = match one {
                Read::Text(text) => {
                    merges.text.push_str(&text);
                    Form::Text
                }
                Read::Pair([first, second]) => {
                    merges.text.push_str(&first);
                    let middle = place(merges.text.len())?;
                    merges.text.push_str(&second);
                    Form::Pair(middle)
                }
                Read::Odd(json) => {
                    merges.odd.push(json);
                    Form::Odd(place(merges.odd.len() - 1)?)
                }
            };
            merges.ends.push((place(merges.text.len())?, form));
        }
        merges.text.shrink_to_fit();
        merges.ends.shrink_to_fit();
        Ok(merges)
    }

    /// Adds a merge: a text with a space between its parts.
    pub fn push(&mut self, merge: &str) -> crate::error::Result<()> {
        self.text.push_str(merge);
        let end = place::<serde_json::Error>(self.text.len()).map_err(|error| too_long(&error))?;
        self.ends.push((end, Form::Text));
        Ok(())
    }

    pub fn iter(&self) -> impl Iterator<Item = Merge<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, form)| {
            let (from, end) = (start, end as usize);
            start = end;
            let text = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
            match form {
                Form::Text => Merge::Text(text(from, end)),
                Form::Pair(at) => Merge::Pair(text(from, at as usize), text(at as usize, end)),
                Form::Odd(at) => Merge::Odd(self.odd.get(at as usize).unwrap_or(&Json::Null)),
            }
        })
    }
}

/// A merge as it is read.
enum Read {
    Text(String),
    Pair([String; 2]),
    Odd(Json),
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reading)
    }
}

struct Reading;

/// Values that are no merge.
macro_rules! odd {
    ($($visit:ident($kind:ty)),*) => {
        $(fn $visit<E>(self, value: $kind) -> Result<Read, E> {
            Ok(Read::Odd(Json::from(value)))
        })*
    };
}

impl<'de> Visitor<'de> for Reading {
    type Value = Read;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a merge")
    }

    odd!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64));

    fn visit_unit<E>(self) -> Result<Read, E> {
        Ok(Read::Odd(Json::Null))
    }

    fn visit_str<E>(self, text: &str) -> Result<Read, E> {
        Ok(Read::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Read, E> {
        Ok(Read::Text(text))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Read, A::Error> {
        let json = Json::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(Read::Odd(json))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Read, A::Error> {
        let mut parts = Vec::with_capacity(2);
        while let Some(part) = list.next_element::<Json>()? {
            parts.push(part);
        }
        match <[Json; 2]>::try_from(parts) {
            Ok([Json::String(first), Json::String(second)]) => Ok(Read::Pair([first, second])),
            Ok(two) => Ok(Read::Odd(Json::from(two.to_vec()))),
            Err(parts) => Ok(Read::Odd(parts.into())),
        }
    }
}
