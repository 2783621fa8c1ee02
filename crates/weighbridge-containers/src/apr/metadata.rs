//! Metadata as a JSON object: every value charged, long arrays left in the file, and of a key
//! that occurs twice the last value, as the format's own reader takes it.

use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::catalog::{ArrayRef, Catalog, Finding, Value};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Budget;
use crate::text::escaped;

/// Arrays up to this length are part of the report; longer ones (a vocabulary) are read on demand.
const SHORT: u64 = 64;

/// Puts the object in `json`, which starts at byte `at` of the file, into the catalog. Broken JSON
/// is a finding: tensors can be listed without it.
pub(super) fn read(json: &[u8], at: u64, budget: &Budget, catalog: &mut Catalog) -> Result<()> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let mut failure = None;
    let object = Object { json, at, tree: Tree { budget, depth: 0, failure: &mut failure } };
    let done = reader.deserialize_map(object).and_then(|all| reader.end().map(|()| all));
    if let Some(error) = failure {
        return Err(error);
    }
    match done {
        Ok(entries) => {
            let (entries, repeated) = last_wins(entries);
            entries.into_iter().for_each(|(key, value)| catalog.metadata.push(key, value));
            if let Some(first) = repeated.first() {
                catalog.notes.push(format!(
                    "{} metadata key{} more than once (`{}`); the last value is used, as in \
                         the reference reader",
                    repeated.len(),
                    if repeated.len() == 1 { " occurs" } else { "s occur" },
                    escaped(first)
                ));
            }
        }
        Err(error) => {
            let message = format!(
                "the metadata is not a JSON object and is skipped: {}",
                escaped(&error.to_string())
            );
            catalog.findings.push(Finding::general("metadata", message));
        }
    }
    Ok(())
}

/// The elements of an array that [`read`] left in the file, in metadata that ends at byte `end`.
pub(super) fn array(
    input: &Input,
    array: &ArrayRef,
    end: u64,
    budget: &Budget,
) -> Result<Vec<Value>> {
    let outside = || Error::usage("no such array in this file's metadata").at(array.offset);
    let len = end.checked_sub(array.offset).ok_or_else(outside)?;
    let json = input.bytes(array.offset, len, budget, "a metadata array")?;
    let mut failure = None;
    let tree = Tree { budget, depth: 0, failure: &mut failure };
    let value = tree.deserialize(&mut serde_json::Deserializer::from_slice(&json));
    match (failure, value) {
        (Some(error), _) => Err(error),
        (None, Ok(Value::List(values))) => Ok(values),
        _ => Err(outside()),
    }
}

/// Keeps the last value of every key in the place of the first; returns the keys that repeat.
pub(super) fn last_wins(entries: Entries) -> (Entries, Vec<Box<str>>) {
    let mut places = HashMap::<Box<str>, usize, foldhash::fast::RandomState>::default();
    let (mut kept, mut repeated) = (Entries::new(), Vec::new());
    for (key, value) in entries {
        match places.get(&key).and_then(|&place| kept.get_mut(place)) {
            Some(first) => {
                first.1 = value;
                repeated.push(key);
            }
            None => {
                places.insert(key.clone(), kept.len());
                kept.push((key, value));
            }
        }
    }
    repeated.sort_unstable();
    repeated.dedup();
    (kept, repeated)
}

type Entries = Vec<(Box<str>, Value)>;

/// The outer object.
struct Object<'a> {
    json: &'a [u8],
    at: u64,
    tree: Tree<'a>,
}

impl Object<'_> {
    /// One member: a long array stays where it is.
    fn member<E: serde::de::Error>(&mut self, raw: &RawValue) -> Result<Value, E> {
        let text = raw.get();
        if text.starts_with('[') {
            let (len, element) = reader(text).deserialize_seq(Count).map_err(E::custom)?;
            if len > SHORT {
                let inside = text.as_ptr().addr().wrapping_sub(self.json.as_ptr().addr());
                let offset = self.at.saturating_add(inside as u64);
                return Ok(Value::Array(ArrayRef { element: element.into(), len, offset }));
            }
        }
        self.tree.inner().deserialize(&mut reader(text)).map_err(E::custom)
    }
}

fn reader(text: &str) -> serde_json::Deserializer<serde_json::de::StrRead<'_>> {
    serde_json::Deserializer::from_str(text)
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Entries, A::Error> {
        let mut entries = Entries::new();
        while let Some(key) = map.next_key::<String>()? {
            self.tree.charge(key.len())?;
            let raw = map.next_value::<&RawValue>()?;
            let value = self.member(raw)?;
            entries.push((key.into(), value));
        }
        Ok(entries)
    }
}

/// What a visitor makes of values that cannot fail.
macro_rules! visits {
    ($($visit:ident($($value:ident: $type:ty)?) => $result:expr,)*) => {
        $(fn $visit<E>(self $(, $value: $type)?) -> Result<Self::Value, E> {
            Ok($result)
        })*
    };
}

/// Any value, charged as it grows.
struct Tree<'a> {
    budget: &'a Budget,
    depth: u32,
    failure: &'a mut Option<Error>,
}

impl Tree<'_> {
    fn inner(&mut self) -> Tree<'_> {
        let depth = self.depth.saturating_add(1);
        Tree { budget: self.budget, depth, failure: &mut *self.failure }
    }

    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        keep(self.budget.depth(self.depth, "the metadata"), self.failure)
    }

    /// Charges one value with `text` bytes of its own.
    fn charge<E: serde::de::Error>(&mut self, text: usize) -> Result<(), E> {
        let bytes = (size_of::<(Box<str>, Value)>() as u64).saturating_add(text as u64);
        keep(crate::charge_item(self.budget, bytes, "the metadata"), self.failure)
    }
}

/// Carries our own error past serde, which only knows text.
pub(super) fn keep<E: serde::de::Error>(
    result: Result<()>,
    failure: &mut Option<Error>,
) -> Result<(), E> {
    result.map_err(|error| {
        *failure = Some(error);
        E::custom("over a limit")
    })
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    visits! {
        visit_unit() => Value::Null,
        visit_bool(value: bool) => Value::Bool(value),
        visit_u64(value: u64) => Value::Unsigned(64, value),
        visit_i64(value: i64) => Value::Signed(64, value),
        visit_f64(value: f64) => Value::F64(value),
    }

    fn visit_str<E: serde::de::Error>(mut self, text: &str) -> Result<Value, E> {
        self.charge(text.len())?;
        Ok(Value::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(self.inner())? {
            self.charge(0)?;
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut entries = Entries::new();
        while let Some(key) = map.next_key::<String>()? {
            self.charge(key.len())?;
            let value = map.next_value_seed(self.inner())?;
            entries.push((key.into(), value));
        }
        Ok(Value::Map(last_wins(entries).0))
    }
}

/// Walks over an array: its length and the type of its elements.
struct Count;

impl<'de> Visitor<'de> for Count {
    type Value = (u64, &'static str);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut len = 0u64;
        let mut element = None;
        while let Some(JsonKind(kind)) = seq.next_element()? {
            len = len.saturating_add(1);
            element = match element {
                Some(before) if before != kind => Some("mixed"),
                _ => Some(kind),
            };
        }
        Ok((len, element.unwrap_or("null")))
    }
}

/// The type of a value that is passed over.
struct JsonKind(&'static str);

impl<'de> serde::Deserialize<'de> for JsonKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Kinds;
        impl<'de> Visitor<'de> for Kinds {
            type Value = JsonKind;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }
            visits! {
                visit_unit() => JsonKind("null"),
                visit_bool(_value: bool) => JsonKind("bool"),
                visit_u64(_value: u64) => JsonKind("integer"),
                visit_i64(_value: i64) => JsonKind("integer"),
                visit_f64(_value: f64) => JsonKind("number"),
                visit_str(_value: &str) => JsonKind("string"),
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<JsonKind, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(JsonKind("array"))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonKind, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(JsonKind("object"))
            }
        }
        deserializer.deserialize_any(Kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::limits::Limits;

    fn budget() -> Budget {
        Budget::new(Limits::default())
    }

    fn read(json: &[u8], at: u64, budget: &Budget) -> Result<Catalog> {
        let mut catalog = Catalog::default();
        super::read(json, at, budget, &mut catalog).map(|()| catalog)
    }

    #[test]
    fn the_last_of_equal_keys_wins_in_the_place_of_the_first() {
        let json = br#"{"a":1,"b":{"x":1,"x":-2},"a":"two","c":null,"a":[3.5]}"#;
        let read = read(json, 64, &budget()).unwrap();
        let keys: Vec<&str> = read.metadata.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["a", "b", "c"]);
        assert_eq!(read.metadata.get("a"), Some(&Value::List(vec![Value::F64(3.5)])));
        let inner = vec![("x".into(), Value::Signed(64, -2))];
        assert_eq!(read.metadata.get("b"), Some(&Value::Map(inner)));
        let [note] = &read.notes[..] else { panic!("{:?}", read.notes) };
        assert!(note.starts_with("1 metadata key occurs more than once (`a`)"), "{note}");
    }

    #[test]
    fn broken_metadata_is_a_finding_and_costs_are_limited() {
        for json in ["", "[]", "{\"a\":}", "{} x", "{\"a\":\"\u{1}\"}", "nul"] {
            let read = read(json.as_bytes(), 64, &budget()).unwrap();
            let kinds: Vec<_> = read.findings.iter().map(|finding| finding.kind).collect();
            assert_eq!(kinds, ["metadata"], "{json}");
            assert!(read.metadata.is_empty());
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
        let error = read(deep.as_bytes(), 64, &budget()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let deeper = format!("{{\"a\":{}", "[".repeat(100_000));
        assert_eq!(read(deeper.as_bytes(), 64, &budget()).unwrap().findings.len(), 1);
        let few = Budget::new(Limits::default().max_items(3));
        let error = read(br#"{"a":[1,2,3,4,5]}"#, 64, &few).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }

    #[test]
    fn a_long_array_stays_in_the_file() {
        let words: Vec<String> = (0..100).map(|i| format!("\"w{i}\"")).collect();
        let json = format!("{{\"v\": [{}], \"n\":1}}", words.join(","));
        let read = read(json.as_bytes(), 64, &budget()).unwrap();
        let Some(Value::Array(reference)) = read.metadata.get("v") else { panic!() };
        assert_eq!((&*reference.element, reference.len, reference.offset), ("string", 100, 70));
        let file = [vec![0; 64], json.into_bytes()].concat();
        let end = file.len() as u64;
        let input = Input::from_bytes(file, "x.apr");
        let values = array(&input, reference, end, &budget()).unwrap();
        assert_eq!(values.len(), 100);
        assert_eq!(values[99].as_str(), Some("w99"));
    }
}
