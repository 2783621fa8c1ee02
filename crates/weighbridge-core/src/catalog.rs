//! The contents of a container: tensors, metadata and problems.
//!
//! Reading a container means turning its header into a [`Catalog`]. A [`Place`] records where the
//! bytes of a tensor are and how they become row-major and little-endian. The source applies it, in
//! one place for all formats.

use std::path::Path;
use std::sync::Arc;

use crate::blocks::Block;
use crate::dtype::StoredType;
use crate::error::Remedy;
pub use crate::shape::{Shape, element_count};

mod kinds;
mod packed;
mod value;

pub use kinds::KINDS;
pub use packed::{Packed, Texts};
pub use value::{ArrayRef, Value};

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
