//! The interface of writable formats: tensors in, a file layout out.
//!
//! A [`Layout`] fixes the position of each tensor and the bytes around them before any data exists.
//! Formats with checksums (the CRC of an archive's members) leave gaps for them. These are filled
//! in once all tiles of a tensor have been written.

use crate::Container;
use crate::catalog::Value;
use crate::dtype::StoredType;
use crate::error::{Error, Result};

/// A tensor to be written.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its stored type.
    pub stored: &'a StoredType,
    /// Its dimensions, outermost first.
    pub shape: &'a [u64],
    /// Its size in bytes.
    pub bytes: u64,
}

/// A metadata value on its way into a file.
#[derive(Clone, Debug, PartialEq)]
pub enum MetadataValue {
    /// A value.
    Value(Value),
    /// A long array copied from a file of the same format, as stored.
    Raw(Vec<u8>),
}

impl MetadataValue {
    /// Returns the value, unless it is raw.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Raw(_) => None,
        }
    }
}

/// Metadata, in order.
pub type Entries = Vec<(String, MetadataValue)>;

/// The metadata of a file, and its position among the shards.
#[derive(Clone, Copy, Debug)]
pub struct FileContext<'a> {
    /// Metadata, in order.
    pub metadata: &'a [(String, MetadataValue)],
    /// The shard index, counted from 0, and the number of shards.
    pub part: (usize, usize),
    /// The number of tensors in all shards.
    pub tensors: usize,
    /// Whether the file is written sequentially, so nothing can be filled in later.
    pub streamed: bool,
}

/// The layout of a file to be written.
#[derive(Debug, Default)]
pub struct Layout {
    /// The bytes around the tensors, in the order of the file.
    pub fixed: Vec<Fixed>,
    /// File offset of each tensor, in the order they were given.
    pub places: Vec<u64>,
    /// Length of the whole file. Bytes covered by neither tensors nor fixed bytes are zero.
    pub len: u64,
    /// For a format with checksums: for each tensor, the CRC-32 of the covered bytes before its
    /// data.
    pub seeds: Option<Vec<u32>>,
}

/// Bytes known before the data, except for the checksums in them.
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    /// Where they go in the file.
    pub at: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Which tensor's checksum goes where in them, as four bytes, the lowest first.
    pub checksums: Vec<(usize, usize)>,
}

impl Layout {
    /// A header and the tensors behind it, which so far are placed as if there were none.
    pub(super) fn behind(header: Vec<u8>, mut places: Vec<u64>, end: u64) -> Self {
        let start = header.len() as u64;
        places.iter_mut().for_each(|place| *place = place.saturating_add(start));
        let len = start.saturating_add(end);
        Self { fixed: vec![Fixed::new(0, header)], places, len, seeds: None }
    }
}

impl Fixed {
    /// Bytes without checksums.
    pub fn new(at: u64, bytes: Vec<u8>) -> Self {
        Self { at, bytes, checksums: Vec::new() }
    }
}

/// The metadata values that a format supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Values of any type, long arrays too.
    Values,
    /// Text.
    Texts,
    /// No metadata.
    Nothing,
}

/// A format that can be written.
pub trait Writer: Container {
    /// Returns its name, which is also its container's name and its file extension.
    fn format(&self) -> &'static str {
        self.name()
    }

    /// Returns why a tensor cannot be written, if so.
    fn refuses(&self, tensor: &Planned<'_>) -> Option<String>;

    /// Returns why a tensor cannot have this name, if so; `refuses` gives the same reason.
    fn refuses_name(&self, _name: &str) -> Option<String> {
        None
    }

    /// Returns the metadata values that it supports.
    fn holds(&self) -> Holds;

    /// Returns the metadata for a model of these tensors: the given entries, and those that the
    /// format requires. If all tensors are `kept` as stored, the entries already include them.
    fn metadata(&self, entries: Entries, _tensors: &[Planned<'_>], _kept: bool) -> Result<Entries> {
        Ok(entries)
    }

    /// Computes the layout of a file with these tensors.
    fn lay_out(&self, tensors: &[Planned<'_>], context: &FileContext<'_>) -> Result<Layout>;

    /// Returns whether its checksums precede the data they cover. If so, a file uploaded in parts
    /// must be written in order, with checksums after the data.
    fn states_sums(&self) -> bool {
        false
    }

    /// Returns whether a model may be split into shards.
    fn splits(&self) -> bool {
        false
    }

    /// Returns whether its shards find each other by their numbered names alone, so that they may be
    /// among other files.
    fn numbers_parts(&self) -> bool {
        false
    }

    /// Returns whether tied tensors are stored once, with the other name recorded in the metadata.
    fn ties(&self) -> bool {
        false
    }

    /// Returns the name of a shard in a directory; `stem` is the model's name there.
    fn file_name(&self, stem: &str, (index, count): (usize, usize)) -> String {
        match count {
            1 => format!("{stem}.{}", self.format()),
            _ => format!("{stem}-{:05}-of-{count:05}.{}", index.saturating_add(1), self.format()),
        }
    }

    /// Returns the shard index, as its name and text, if the format has one. `map` gives the file
    /// of each tensor.
    fn index(
        &self,
        _stem: &str,
        _map: Vec<(&str, &str)>,
        _bytes: u64,
        _parameters: u64,
    ) -> Option<(String, String)> {
        None
    }

    /// Returns the default stem of files in a directory.
    fn stem(&self, _folder: &str) -> String {
        "model".to_owned()
    }
}

/// The message that a format has no type for a tensor.
pub(super) fn no_type(tensor: &Planned<'_>, format: &str) -> String {
    format!("{format} has no type {}", tensor.stored.name())
}

/// The message that a format cannot hold a tensor's shape.
pub(super) fn too_large(tensor: &Planned<'_>, format: &str) -> String {
    format!("shape {:?} is too large for {format}", tensor.shape)
}

/// Elements of a shape whose empty dimensions count as one: readers multiply dimensions one by one,
/// so that a zero does not help where the others are too large. `None` if the count does not fit.
pub(super) fn full_count(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim.max(1)))
}

/// Returns an error if two tensors have the same name.
pub(super) fn refuse_duplicates(tensors: &[Planned<'_>]) -> Result<()> {
    match crate::repeated(tensors.iter().map(|tensor| tensor.name)).next() {
        Some(name) => Err(Error::usage("two output tensors have this name").in_tensor(name)),
        None => Ok(()),
    }
}

/// Returns the end of a tensor that starts at `start`, or an error on overflow.
pub(super) fn end_of(start: u64, tensor: &Planned<'_>) -> Result<u64> {
    start.checked_add(tensor.bytes).ok_or_else(|| {
        Error::limit("the file would exceed the largest size of any file system")
            .in_tensor(tensor.name)
    })
}
