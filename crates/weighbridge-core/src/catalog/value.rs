//! Metadata values.

use std::borrow::Cow;
use std::sync::Arc;

use super::packed::Packed;

/// A metadata value with the width that the file gives it.
#[derive(Clone, Debug)]
pub enum Value {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// An unsigned integer of so many bits.
    Unsigned(u8, u64),
    /// A signed integer of so many bits.
    Signed(u8, i64),
    /// A single-precision number.
    F32(f32),
    /// A double-precision number.
    F64(f64),
    /// Text.
    Text(Box<str>),
    /// Text that is not valid UTF-8, as raw bytes. Writers copy it unchanged.
    RawText(Box<[u8]>),
    /// Values read one by one.
    List(Vec<Value>),
    /// A list that was made for an output, in little memory. It equals a list of the same values.
    Packed(Arc<Packed>),
    /// Named values.
    Map(Vec<(Box<str>, Value)>),
    /// An array that was skipped and left in the file. The source reads it on demand.
    Array(ArrayRef),
}

/// An array left in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayRef {
    /// Its element type, such as `string`, `i32` or `array[u8]`.
    pub element: Arc<str>,
    /// How many elements it has.
    pub len: u64,
    /// Where its first element starts in the file.
    pub offset: u64,
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Unsigned(bits, a), Self::Unsigned(other, b)) => (bits, a) == (other, b),
            (Self::Signed(bits, a), Self::Signed(other, b)) => (bits, a) == (other, b),
            (Self::F32(a), Self::F32(b)) => a == b,
            (Self::F64(a), Self::F64(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::RawText(a), Self::RawText(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Packed(a), Self::Packed(b)) => a == b,
            (Self::Packed(packed), Self::List(list)) | (Self::List(list), Self::Packed(packed)) => {
                packed.is(list)
            }
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a == b,
            _ => false,
        }
    }
}

impl Value {
    /// A list of these values.
    pub fn list(values: impl IntoIterator<Item = Value>) -> Self {
        match Packed::of(values) {
            Ok(packed) => Self::Packed(Arc::new(packed)),
            Err(values) => Self::List(values),
        }
    }

    /// The values of a list that is in memory.
    #[must_use]
    pub fn as_list(&self) -> Option<Cow<'_, [Value]>> {
        match self {
            Self::List(values) => Some(Cow::Borrowed(values)),
            Self::Packed(packed) => Some(Cow::Owned(packed.values().collect())),
            _ => None,
        }
    }

    /// Adds values to such a list.
    pub fn extend(&mut self, more: Vec<Value>) {
        match self {
            Self::List(values) => values.extend(more),
            Self::Packed(packed) => {
                let own = Arc::make_mut(packed);
                let before = own.len();
                if let Some(odd) = more.iter().position(|value| !own.push(value)) {
                    let own = own.values().take(before + odd);
                    let all = own.chain(more.into_iter().skip(odd)).collect();
                    *self = Self::List(all);
                }
            }
            _ => {}
        }
    }

    /// The length of such a list.
    #[must_use]
    pub fn list_len(&self) -> Option<usize> {
        match self {
            Self::List(values) => Some(values.len()),
            Self::Packed(packed) => Some(packed.len()),
            _ => None,
        }
    }

    /// A text value.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::Text(text.into())
    }

    /// Bytes that should be text.
    pub fn of_text(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::text(text),
            Err(_) => Self::RawText(bytes.into()),
        }
    }

    /// Returns the text, if the value is text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, if the value is a non-negative integer.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::Unsigned(_, value) => Some(value),
            Self::Signed(_, value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// Returns the type name: `u32`, `string`, `array[string]`, `map`. JSON numbers, which have no
    /// width, are `u64`, `i64` or `f64`.
    #[must_use]
    pub fn type_name(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(_) => "bool".to_owned(),
            Self::Unsigned(bits, _) => format!("u{bits}"),
            Self::Signed(bits, _) => format!("i{bits}"),
            Self::F32(_) => "f32".to_owned(),
            Self::F64(_) => "f64".to_owned(),
            Self::Text(_) => "string".to_owned(),
            Self::RawText(_) => "string, not UTF-8".to_owned(),
            Self::Map(_) => "map".to_owned(),
            Self::List(_) | Self::Packed(_) => format!("array[{}]", self.element_type()),
            Self::Array(array) => format!("array[{}]", array.element),
        }
    }

    /// Returns the common type of a list's elements; `mixed` if they differ or the list is empty.
    #[must_use]
    pub fn element_type(&self) -> String {
        let values = match self {
            Self::List(values) => values,
            Self::Packed(packed) => return packed.element().to_owned(),
            _ => return String::from("mixed"),
        };
        let first = values.first().map(Self::type_name);
        let is_same = |name: &String| values[1..].iter().all(|value| value.type_name() == *name);
        first.filter(is_same).unwrap_or_else(|| String::from("mixed"))
    }

    /// Converts the value to JSON. Non-finite numbers become null, invalid UTF-8 becomes `\xNN`,
    /// and an unread array becomes an object with its element type and length.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::{Value as Json, json};
        match self {
            Self::Null => Json::Null,
            Self::Bool(value) => json!(value),
            Self::Unsigned(_, value) => json!(value),
            Self::Signed(_, value) => json!(value),
            Self::F32(value) => json!(f64::from(*value)),
            Self::F64(value) => json!(value),
            Self::Text(text) => json!(text),
            Self::RawText(bytes) => json!(crate::text::spelled_out(bytes)),
            Self::List(values) => values.iter().map(Self::to_json).collect(),
            Self::Packed(packed) => packed.values().map(|value| value.to_json()).collect(),
            Self::Map(entries) => Json::Object(
                entries.iter().map(|(key, value)| (key.to_string(), value.to_json())).collect(),
            ),
            Self::Array(array) => json!({ "array": &*array.element, "length": array.len }),
        }
    }

    /// Converts a JSON document to a metadata value.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(value), _) => Self::Unsigned(64, value),
                (_, Some(value)) => Self::Signed(64, value),
                _ => Self::F64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::text(text.as_str()),
            Json::Array(values) => Self::List(values.iter().map(Self::from_json).collect()),
            Json::Object(entries) => Self::Map(
                entries.iter().map(|(k, v)| (k.as_str().into(), Self::from_json(v))).collect(),
            ),
        }
    }
}
