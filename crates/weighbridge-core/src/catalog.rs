//! What a container says is inside: tensors, metadata, and problems with them.
//!
//! A container's whole job on the read side is to turn a header into a [`Catalog`]. Where the
//! bytes of a tensor lie, and how they become row-major and little-endian, is data here
//! ([`Place`]); the source acts on it, once for all formats.

use std::sync::Arc;

use crate::blocks::Block;
use crate::dtype::StoredType;
use crate::error::Remedy;
pub use crate::shape::{Shape, element_count};

mod kinds;

pub use kinds::KINDS;

/// What one listed tensor costs beside its name: its entry, in a table that doubles when it is full.
pub const LISTED: u64 = 2 * size_of::<TensorInfo>() as u64;

/// One tensor as a container stores it.
#[derive(Clone, Debug)]
pub struct TensorInfo {
    /// Its name.
    pub name: Box<str>,
    /// Its dimensions, outermost first.
    pub shape: Shape,
    /// What its bytes are.
    pub stored: StoredType,
    /// How many bytes it has in row-major order.
    pub bytes: u64,
    /// Where the bytes are.
    pub place: Place,
    /// Why its values cannot be read, where they cannot: an object array, a missing record.
    pub refused: Option<Box<str>>,
}

impl TensorInfo {
    /// Elements; zero if the count does not fit (containers refuse that on opening).
    #[must_use]
    pub fn elements(&self) -> u64 {
        element_count(&self.shape).unwrap_or(0)
    }

    /// How many stored bytes its elements lie in. That is fewer than it has in row-major order
    /// where strides lead to the same bytes again and again.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let Order::Strided(strides) = &self.place.order else { return self.bytes };
        let steps = self.shape.iter().zip(strides);
        let last = steps.map(|(dim, stride)| dim.saturating_sub(1).saturating_mul(*stride));
        let span = last.fold(1, u64::saturating_add);
        let unit = self.bytes.checked_div(self.elements()).unwrap_or(0);
        span.saturating_mul(unit).min(self.bytes)
    }

    /// Offset of the tensor's bytes from the start of the file, where they lie there in one
    /// piece, row-major and little-endian.
    #[must_use]
    pub fn file_offset(&self) -> Option<u64> {
        match (&self.place.run, &self.place.order, self.place.swap) {
            (Run::At(offset), Order::RowMajor, Swap::None) => Some(*offset),
            _ => None,
        }
    }
}

/// Where the bytes of a tensor are, and how they become row-major and little-endian.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Where the first byte is.
    pub run: Run,
    /// The order of the elements.
    pub order: Order,
    /// The order of the bytes inside elements.
    pub swap: Swap,
}

impl Place {
    /// Bytes that are row-major and little-endian already, at this offset of the file.
    #[must_use]
    pub fn at(offset: u64) -> Self {
        Self { run: Run::At(offset), order: Order::RowMajor, swap: Swap::None }
    }

    /// No bytes at all.
    #[must_use]
    pub fn nowhere() -> Self {
        Self { run: Run::Nowhere, order: Order::RowMajor, swap: Swap::None }
    }
}

/// Where bytes start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// At an offset of the file.
    At(u64),
    /// At an offset of a compressed member's contents; `member` indexes [`Catalog::members`].
    Inside {
        /// Which member.
        member: u32,
        /// Offset in its decompressed contents.
        offset: u64,
    },
    /// At an offset of bytes that the header holds in another form, such as text. They were
    /// decoded with the header; `index` counts in [`Catalog::inline_data`].
    Inline {
        /// Which bytes.
        index: u32,
        /// Offset in them.
        offset: u64,
    },
    /// There are none (a tensor without elements, or without data).
    Nowhere,
}

/// How a member of an archive is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Deflate.
    Deflate,
    /// bzip2.
    Bzip2,
    /// LZMA, with the header that zip puts in front of it.
    Lzma,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Deflate => "deflate",
            Self::Bzip2 => "bzip2",
            Self::Lzma => "LZMA",
            Self::Zstd => "zstd",
        }
    }
}

/// A compressed member of an archive, for reading from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// How it is compressed.
    pub compression: Compression,
    /// The most memory that a dictionary or window of it may take.
    pub max_memory: u64,
    /// Where the compressed bytes start in the file.
    pub offset: u64,
    /// How many there are.
    pub compressed: u64,
    /// How many they become.
    pub size: u64,
    /// The CRC-32 of what they become, where the archive states one.
    pub crc: Option<u32>,
    /// Its name.
    pub name: NameInFile,
}

/// A member of an archive that lies in the file as it is, and what the archive says its sum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummedMember {
    /// Where its first byte is in the file.
    pub offset: u64,
    /// How many bytes it has.
    pub len: u64,
    /// The CRC-32 that the archive's directory states for them.
    pub crc: u32,
    /// Its name.
    pub name: NameInFile,
}

/// Where a file spells a name that only an error needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameInFile {
    /// Its first byte.
    pub offset: u64,
    /// How many it has.
    pub len: u16,
}

/// The order elements are stored in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row-major: the last dimension runs fastest.
    RowMajor,
    /// Element `i, j, ..` lies `i * strides[0] + j * strides[1] + ..` elements after the start.
    Strided(Shape),
}

/// The order of bytes inside elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Swap {
    /// Little-endian already.
    None,
    /// Every so many bytes are reversed.
    Elements(u8),
    /// Little-endian, but with the opposite sign: of every number of so many bytes, or of the
    /// imaginary parts of complex numbers of twice as many.
    Signs {
        /// Bytes of a number.
        width: u8,
        /// Whether only imaginary parts are meant.
        imaginary: bool,
    },
    /// The numbers inside each block are reversed.
    Blocks(&'static Block),
}

/// Everything a container's header says.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Tensors, in the file's order.
    pub tensors: Vec<TensorInfo>,
    /// Metadata, in the file's order.
    pub metadata: Metadata,
    /// What is wrong with the file, short of not being readable at all.
    pub findings: Vec<Finding>,
    /// What was decided on the user's behalf, and what is worth knowing.
    pub notes: Vec<String>,
    /// Compressed members that tensors refer to.
    pub members: Vec<Member>,
    /// Stored members with a checksum that tensors lie in, in any order, some of them repeatedly.
    pub summed: Vec<SummedMember>,
    /// Bytes of tensors that were decoded from the header: the file does not hold them as such.
    pub inline_data: Vec<Box<[u8]>>,
    /// Shapes that tensors had before they were stored in another one, by their names: as many
    /// elements in the same order.
    pub original_shapes: Vec<(Box<str>, Shape)>,
    /// Where the file ends according to its header.
    pub declared_len: Option<u64>,
    /// The format's version and the like, for people ("v3, little-endian").
    pub detail: Option<String>,
    /// Of a format that is a program: what loading it would run beside the usual builders, in the
    /// order it is named. `None` for a format that is none, or where it cannot be told.
    pub would_run: Option<Vec<String>>,
    /// Set when values must not be read, whatever is asked: the reason.
    pub unsafe_to_read: Option<String>,
}

/// Something wrong that does not stop an `inspect`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The tensor it is about.
    pub tensor: Option<String>,
    /// A stable word for it, such as `truncated`: one of [`KINDS`].
    pub kind: &'static str,
    /// What is wrong and what to do.
    pub message: String,
}

/// The kind of a finding about a weight that could be stored in several ways.
const AMBIGUOUS: &str = "ambiguous";

impl Finding {
    /// A finding about one tensor.
    pub fn of(tensor: &str, kind: &'static str, message: impl Into<String>) -> Self {
        Self { tensor: Some(tensor.to_owned()), ..Self::general(kind, message) }
    }

    /// A finding about the whole file.
    pub fn general(kind: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(KINDS.contains(&kind), "{kind} is not in the table of kinds");
        Self { tensor: None, kind, message: message.into() }
    }

    /// What a copy of it costs.
    pub fn cost(&self) -> u64 {
        let text = self.message.len().saturating_add(self.tensor.as_ref().map_or(0, String::len));
        (size_of::<Self>() as u64).saturating_mul(2).saturating_add(text as u64)
    }

    /// What the caller can do about it, where it is theirs to decide.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        (self.kind == AMBIGUOUS).then_some(Remedy::StateScheme)
    }
}

/// Key-value metadata in file order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    entries: Vec<(Box<str>, Value)>,
}

impl Metadata {
    /// Adds an entry at the end.
    pub fn push(&mut self, key: impl Into<Box<str>>, value: Value) {
        self.entries.push((key.into(), value));
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, _)| &**name == key).map(|(_, value)| value)
    }

    /// All entries, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (&**key, value))
    }

    /// The entry at a place of that order.
    #[must_use]
    pub fn entry(&self, place: usize) -> Option<(&str, &Value)> {
        self.entries.get(place).map(|(key, value)| (&**key, value))
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// One metadata value, with the width the file gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A truth value.
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
    /// What should be text and is not UTF-8: its bytes, which are written as they are.
    RawText(Box<[u8]>),
    /// Values read one by one.
    List(Vec<Value>),
    /// Named values.
    Map(Vec<(Box<str>, Value)>),
    /// An array that was walked over and left in the file; the source reads it when asked.
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

impl Value {
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

    /// The text, when it is text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, when it is a whole number that is not negative.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::Unsigned(_, value) => Some(value),
            Self::Signed(_, value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// What it is: `u32`, `string`, `array[string]`, `map`. Numbers of a document in JSON, which has no
    /// widths, are `u64`, `i64` or `f64`.
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
            Self::List(_) => format!("array[{}]", self.element_type()),
            Self::Array(array) => format!("array[{}]", array.element),
        }
    }

    /// The type that all elements of a list have; `mixed` if they differ or there are none.
    #[must_use]
    pub fn element_type(&self) -> String {
        let Self::List(values) = self else { return String::from("mixed") };
        let first = values.first().map(Self::type_name);
        let is_same = |name: &String| values[1..].iter().all(|value| value.type_name() == *name);
        first.filter(is_same).unwrap_or_else(|| String::from("mixed"))
    }

    /// As JSON. Numbers that are not finite become null, an unread array an object with its
    /// element type and length, bytes that are not UTF-8 `\xNN`.
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
            Self::Map(entries) => Json::Object(
                entries.iter().map(|(key, value)| (key.to_string(), value.to_json())).collect(),
            ),
            Self::Array(array) => json!({ "array": &*array.element, "length": array.len }),
        }
    }

    /// A JSON document as metadata.
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
