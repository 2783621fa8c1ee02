//! The contents of a container: tensors, metadata and problems.
//!
//! Reading a container means turning its header into a [`Catalog`]. A [`Place`] records where the
//! bytes of a tensor are and how they become row-major and little-endian. The source applies it, in
//! one place for all formats.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use crate::blocks::Block;
use crate::dtype::StoredType;
use crate::error::Remedy;
pub use crate::packed::{Packed, Texts};
pub use crate::shape::{Shape, element_count};

mod kinds;

pub use kinds::KINDS;

/// Memory for one listed tensor without its name: its entry, in a table that doubles when full.
pub const LISTED: u64 = 2 * size_of::<TensorInfo>() as u64;

/// One tensor as a container stores it.
#[derive(Clone, Debug)]
pub struct TensorInfo {
    /// Its name.
    pub name: Box<str>,
    /// Its dimensions, outermost first.
    pub shape: Shape,
    /// Its stored type.
    pub stored: StoredType,
    /// Its size in row-major order, in bytes.
    pub bytes: u64,
    /// Where the bytes are.
    pub place: Place,
    /// Why its values cannot be read, if so: an object array, a missing record.
    pub refused: Option<Box<str>>,
}

impl TensorInfo {
    /// Returns the element count; zero on overflow, which containers reject on opening.
    #[must_use]
    pub fn elements(&self) -> u64 {
        element_count(&self.shape).unwrap_or(0)
    }

    /// Returns the number of stored bytes that its elements occupy. This is less than its row-major
    /// size if strides repeat stored bytes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let Order::Strided(strides) = &self.place.order else { return self.bytes };
        let steps = self.shape.iter().zip(strides);
        let last = steps.map(|(dim, stride)| dim.saturating_sub(1).saturating_mul(*stride));
        let span = last.fold(1, u64::saturating_add);
        let unit = self.bytes.checked_div(self.elements()).unwrap_or(0);
        span.saturating_mul(unit).min(self.bytes)
    }

    /// Returns the file offset of the tensor's bytes, if they are contiguous, row-major and
    /// little-endian.
    #[must_use]
    pub fn file_offset(&self) -> Option<u64> {
        match (&self.place.run, &self.place.order, self.place.swap) {
            (Run::At(offset), Order::RowMajor, Swap::None) => Some(*offset),
            _ => None,
        }
    }
}

/// The location of a tensor's bytes, and how they become row-major and little-endian.
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
    /// Creates a place for row-major, little-endian bytes at this file offset.
    #[must_use]
    pub fn at(offset: u64) -> Self {
        Self { run: Run::At(offset), order: Order::RowMajor, swap: Swap::None }
    }

    /// Creates a place without bytes.
    #[must_use]
    pub fn nowhere() -> Self {
        Self { run: Run::Nowhere, order: Order::RowMajor, swap: Swap::None }
    }
}

/// The start of a tensor's bytes.
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
    /// At an offset of bytes that the header stores in another form, such as text. They are decoded
    /// with the header; `index` indexes [`Catalog::inline_data`].
    Inline {
        /// Which bytes.
        index: u32,
        /// Offset in them.
        offset: u64,
    },
    /// No bytes: a tensor without elements or without data.
    Nowhere,
}

/// The compression method of an archive member.
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
    /// Returns its name.
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
    /// The memory limit for its dictionary or window, in bytes.
    pub max_memory: u64,
    /// Where the compressed bytes start in the file.
    pub offset: u64,
    /// The compressed size in bytes.
    pub compressed: u64,
    /// The decompressed size in bytes.
    pub size: u64,
    /// The CRC-32 of the decompressed bytes, if the archive states one.
    pub crc: Option<u32>,
    /// Its name.
    pub name: NameInFile,
}

/// An uncompressed archive member with the checksum that the archive states.
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

/// The location of a name in the file. Only errors read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameInFile {
    /// Its first byte.
    pub offset: u64,
    /// How many it has.
    pub len: u16,
}

/// The storage order of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row-major: the last dimension runs fastest.
    RowMajor,
    /// Element `i, j, ..` lies `i * strides[0] + j * strides[1] + ..` elements after the start.
    Strided(Shape),
}

/// The byte order inside elements.
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

/// The contents of a container's header.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Tensors, in the file's order.
    pub tensors: Vec<TensorInfo>,
    /// Metadata, in the file's order.
    pub metadata: Metadata,
    /// Problems that do not prevent listing the file.
    pub findings: Vec<Finding>,
    /// Notes on assumptions made for the user, and other useful facts.
    pub notes: Vec<String>,
    /// Compressed members that tensors refer to.
    pub members: Vec<Member>,
    /// Stored members with a checksum that tensors lie in, in any order, some of them repeatedly.
    pub summed: Vec<SummedMember>,
    /// Tensor bytes decoded from the header; the file does not store them in this form.
    pub inline_data: Vec<Box<[u8]>>,
    /// Original shapes of tensors stored in another shape, by name. Element count and order are
    /// unchanged.
    pub original_shapes: Vec<(Box<str>, Shape)>,
    /// Where the file ends according to its header.
    pub declared_len: Option<u64>,
    /// The format's version and the like, for people ("v3, little-endian").
    pub detail: Option<String>,
    /// For a format that is a program, such as a pickle: functions that loading it would run, other
    /// than the usual builders, in the order named. `None` for other formats, or if unknown.
    pub would_run: Option<Vec<String>>,
    /// Why values must never be read, if so.
    pub unsafe_to_read: Option<String>,
}

/// A problem that does not prevent `inspect`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The tensor that the problem is about.
    pub tensor: Option<String>,
    /// A stable word for it, such as `truncated`: one of [`KINDS`].
    pub kind: &'static str,
    /// The problem, and what to do about it.
    pub message: String,
    /// The file that the problem is in, if it is one file. The JSON report has it in the message.
    #[serde(skip)]
    pub file: Option<Arc<Path>>,
}

/// The kind of finding for a weight with several possible encodings.
const AMBIGUOUS: &str = "ambiguous";

impl Finding {
    /// Creates a finding about one tensor.
    pub fn of(tensor: &str, kind: &'static str, message: impl Into<String>) -> Self {
        Self { tensor: Some(tensor.to_owned()), ..Self::general(kind, message) }
    }

    /// Creates a finding about the whole file.
    pub fn general(kind: &'static str, message: impl Into<String>) -> Self {
        debug_assert!(KINDS.contains(&kind), "{kind} is not in the table of kinds");
        Self { tensor: None, kind, message: message.into(), file: None }
    }

    /// Names the file that the problem is in.
    #[must_use]
    pub fn in_file(mut self, path: &Arc<Path>) -> Self {
        self.file.get_or_insert_with(|| path.clone());
        self
    }

    /// Returns the memory for one copy, in bytes.
    pub fn cost(&self) -> u64 {
        let text = self.message.len().saturating_add(self.tensor.as_ref().map_or(0, String::len));
        (size_of::<Self>() as u64).saturating_mul(2).saturating_add(text as u64)
    }

    /// Returns the remedy, if the caller has a choice.
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

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, _)| &**name == key).map(|(_, value)| value)
    }

    /// Returns all entries, in file order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (&**key, value))
    }

    /// Returns the entry at this index, in file order.
    #[must_use]
    pub fn entry(&self, place: usize) -> Option<(&str, &Value)> {
        self.entries.get(place).map(|(key, value)| (&**key, value))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

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
