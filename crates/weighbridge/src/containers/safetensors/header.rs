//! The JSON header, read in one pass without building a JSON tree.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

use crate::catalog::{Catalog, Metadata, Place, Shape, TensorInfo, Value, element_count};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::limits::Budget;

/// Reads the header whose data starts at `data_start`.
pub(super) fn parse(json: &[u8], data_start: u64, budget: &Budget) -> Result<Catalog> {
    let mut catalog = Catalog::default();
    let mut failure = None;
    let mut reader = serde_json::Deserializer::from_slice(json);
    let header = Header { catalog: &mut catalog, budget, data_start, failure: &mut failure };
    let done = header.deserialize(&mut reader).and_then(|()| reader.end());
    if let Some(error) = failure {
        return Err(error);
    }
    done.map_err(|error| {
        Error::malformed(format!("the header is not valid JSON: {error}"))
            .at(8u64.saturating_add(byte_of(json, &error)))
    })?;
    check_names(&catalog)?;
    catalog.declared_len = Some(check_ranges(&catalog, data_start)?);
    Ok(catalog)
}

/// serde_json counts lines and columns; people with a hex dump count bytes.
fn byte_of(json: &[u8], error: &serde_json::Error) -> u64 {
    let before = json.split(|&b| b == b'\n').take(error.line().saturating_sub(1));
    let lines: usize = before.map(|line| line.len().saturating_add(1)).fold(0, usize::saturating_add);
    lines.saturating_add(error.column().saturating_sub(1)) as u64
}

/// The outer object: `__metadata__` and one entry a tensor.
struct Header<'a> {
    catalog: &'a mut Catalog,
    budget: &'a Budget,
    data_start: u64,
    failure: &'a mut Option<Error>,
}

impl<'de> DeserializeSeed<'de> for Header<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Header<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen_metadata = false;
        while let Some(name) = map.next_key::<Name<'de>>()? {
            if name.0 == "__metadata__" {
                if std::mem::replace(&mut seen_metadata, true) {
                    return self.fail(Error::malformed("`__metadata__` occurs twice"));
                }
                self.catalog.metadata = map.next_value::<TextMap>()?.0;
                continue;
            }
            let entry: Entry<'de> = map.next_value()?;
            let charged = self
                .budget
                .items(1, "the list of tensors")
                .and_then(|()| self.budget.charge(RECORD.saturating_add(name.0.len() as u64), "the list of tensors"));
            match charged.and_then(|()| entry.into_info(&name.0, self.data_start)) {
                Ok(info) => self.catalog.tensors.push(info),
                Err(error) => return self.fail(error.in_tensor(&name.0)),
            }
        }
        Ok(())
    }
}

/// What one listed tensor costs beside its name.
const RECORD: u64 = size_of::<TensorInfo>() as u64;

impl Header<'_> {
    /// Carries our own error past serde, which only knows text.
    fn fail<E: serde::de::Error>(self, error: Error) -> Result<(), E> {
        *self.failure = Some(error);
        Err(E::custom("invalid entry"))
    }
}

/// A key or word, borrowed from the header unless it holds escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Words)
    }
}

/// One tensor's entry.
#[derive(serde::Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    dtype: Name<'a>,
    shape: Shape,
    data_offsets: (u64, u64),
}

impl Entry<'_> {
    fn into_info(self, name: &str, data_start: u64) -> Result<TensorInfo> {
        let (from, to) = self.data_offsets;
        let Some(bytes) = to.checked_sub(from) else {
            return Err(Error::malformed(format!("its data_offsets [{from}, {to}] run backwards")));
        };
        let Some(start) = data_start.checked_add(from).filter(|s| s.checked_add(bytes).is_some()) else {
            return Err(Error::malformed(format!("its data_offsets [{from}, {to}] are too large")));
        };
        let Some(elements) = element_count(&self.shape) else {
            return Err(Error::malformed(format!("its shape {:?} is too large", &self.shape[..])));
        };
        let stored = match DType::from_name(&self.dtype.0) {
            Some(dtype) if is_standard(dtype) => {
                check_size(dtype, &self.shape, elements, bytes)?;
                StoredType::Element(dtype)
            }
            _ => StoredType::opaque(&*self.dtype.0),
        };
        let refused = match &stored {
            StoredType::Opaque(name) => Some(
                format!("dtype `{}` is not known to this version", crate::text::escaped(name)).into(),
            ),
            _ => None,
        };
        Ok(TensorInfo { name: name.into(), shape: self.shape, stored, bytes, place: Place::at(start), refused })
    }
}

/// Our list of types is longer than the format's.
fn is_standard(dtype: DType) -> bool {
    !matches!(dtype, DType::C32 | DType::C128)
}

fn check_size(dtype: DType, shape: &[u64], elements: u64, bytes: u64) -> Result<()> {
    match dtype.bytes_for(elements) {
        Some(expected) if expected == bytes => Ok(()),
        Some(expected) => Err(Error::malformed(format!(
            "{dtype} {shape:?} takes {expected} bytes, its data_offsets give it {bytes}"
        ))),
        None => Err(Error::malformed(format!("{dtype} {shape:?} does not fill whole bytes"))),
    }
}

/// `__metadata__`: text to text.
struct TextMap(Metadata);

impl<'de> serde::Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = TextMap;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings under `__metadata__`")
            }
            fn visit_unit<E>(self) -> Result<TextMap, E> {
                Ok(TextMap(Metadata::default()))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TextMap, A::Error> {
                let mut metadata = Metadata::default();
                while let Some((key, value)) = map.next_entry::<String, String>()? {
                    metadata.push(key, Value::text(value));
                }
                Ok(TextMap(metadata))
            }
        }
        deserializer.deserialize_any(Pairs)
    }
}

/// Two tensors of one name would make every lookup a guess.
fn check_names(catalog: &Catalog) -> Result<()> {
    let mut names =
        std::collections::HashSet::with_capacity_and_hasher(catalog.tensors.len(), foldhash::fast::RandomState::default());
    match catalog.tensors.iter().find(|tensor| !names.insert(&*tensor.name)) {
        Some(twice) => Err(Error::malformed("the name occurs twice in the header").in_tensor(&twice.name)),
        None => Ok(()),
    }
}

/// Checks that the tensors cover the data without overlap or hole; returns where they end.
fn check_ranges(catalog: &Catalog, data_start: u64) -> Result<u64> {
    let start = |t: &TensorInfo| t.file_offset().or(match t.place.run {
        crate::catalog::Run::At(offset) => Some(offset),
        _ => None,
    }).unwrap_or(data_start);
    let mut order: Vec<&TensorInfo> = catalog.tensors.iter().collect();
    if !order.is_sorted_by_key(|t| (start(t), t.bytes)) {
        order.sort_by_key(|t| (start(t), t.bytes));
    }
    let mut end = data_start;
    for tensor in order {
        let from = start(tensor);
        if from != end {
            let what = if from < end { "overlaps the tensor before it" } else { "leaves a hole before it" };
            return Err(Error::malformed(format!(
                "its data starts at byte {from} and {what}, which ends at byte {end}"
            ))
            .at(from)
            .in_tensor(&tensor.name));
        }
        end = from.saturating_add(tensor.bytes);
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn parse_text(json: &str) -> Result<Catalog> {
        parse(json.as_bytes(), 8 + json.len() as u64, &Budget::new(Limits::default()))
    }

    fn message(json: &str) -> String {
        parse_text(json).unwrap_err().to_string()
    }

    #[test]
    fn rules_of_the_format() {
        let ok = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"k":"v"}}"#;
        let catalog = parse_text(ok).unwrap();
        assert_eq!(catalog.metadata.get("k").and_then(Value::as_str), Some("v"));
        assert_eq!(catalog.declared_len, Some(8 + ok.len() as u64 + 8));
        let cases = [
            (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#, "takes 8 bytes"),
            (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#, "leaves a hole"),
            (r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#, "overlaps"),
            (r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#, "occurs twice"),
            (r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}"#, "run backwards"),
            (r#"{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}}"#, "does not fill whole bytes"),
            (r#"{"a":{"dtype":"U8","shape":[18446744073709551615,2],"data_offsets":[0,1]}}"#, "too large"),
            (r#"{"__metadata__":{"a":1}}"#, "not valid JSON"),
            (r#"{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}"#, "not valid JSON"),
            (r#"[]"#, "not valid JSON"),
        ];
        for (json, expected) in cases {
            assert!(message(json).contains(expected), "{json}: {}", message(json));
        }
    }

    #[test]
    fn an_unknown_dtype_is_listed() {
        let json = r#"{"a":{"dtype":"F2","shape":[8],"data_offsets":[0,2]}}"#;
        let catalog = parse_text(json).unwrap();
        assert_eq!(catalog.tensors[0].stored.name(), "F2");
        assert!(catalog.tensors[0].refused.is_some());
    }
}
