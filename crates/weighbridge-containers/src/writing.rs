//! What every format that can be written has in common: tensors go in, a layout comes out.
//!
//! A [`Layout`] says where each tensor's bytes go and what stands around them, before a byte of
//! data exists. Formats with checksums (the CRC of an archive's members) leave gaps for them, which
//! are filled in when all tiles of a tensor have been seen.

use crate::Container;
use crate::catalog::Value;
use crate::dtype::StoredType;
use crate::error::{Error, Result};

/// A tensor to be written.
#[derive(Clone, Copy, Debug)]
pub struct Planned<'a> {
    /// Its name.
    pub name: &'a str,
    /// What its bytes are.
    pub stored: &'a StoredType,
    /// Its dimensions, outermost first.
    pub shape: &'a [u64],
    /// How many bytes it has.
    pub bytes: u64,
}

/// A metadata value on its way into a file.
#[derive(Clone, Debug, PartialEq)]
pub enum MetadataValue {
    /// A value.
    Value(Value),
    /// A long array of a file of the same format, as that format stores it.
    Raw(Vec<u8>),
}

impl MetadataValue {
    /// The value, unless it is raw.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Raw(_) => None,
        }
    }
}

/// Metadata, in order.
pub type Entries = Vec<(String, MetadataValue)>;

/// What else a file holds, and which file it is.
#[derive(Clone, Copy, Debug)]
pub struct FileContext<'a> {
    /// Metadata, in order.
    pub metadata: &'a [(String, MetadataValue)],
    /// Which of how many files this is, counted from 0.
    pub part: (usize, usize),
    /// How many tensors all files together have.
    pub tensors: usize,
    /// Whether the bytes go out one after the other, so that nothing can be filled in later.
    pub streamed: bool,
}

/// A file to be written.
#[derive(Debug, Default)]
pub struct Layout {
    /// The bytes around the tensors, in the order of the file.
    pub fixed: Vec<Fixed>,
    /// File offset of each tensor, in the order they were given.
    pub places: Vec<u64>,
    /// Length of the whole file. What neither tensors nor fixed bytes cover is zero.
    pub len: u64,
    /// For a format with checksums: of each tensor, the CRC-32 of what is covered before its data.
    pub seeds: Option<Vec<u32>>,
}

/// Bytes that are known before the data, but for the checksums in them.
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    /// Where they go in the file.
    pub at: u64,
    /// What they are.
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

/// What a format's metadata can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Values of any type, long arrays too.
    Values,
    /// Text.
    Texts,
    /// Nothing: there is no place for it.
    Nothing,
}

/// A format that can be written.
pub trait Writer: Container {
    /// Its name, which is that of its container and the extension of its files.
    fn format(&self) -> &'static str {
        self.name()
    }

    /// Why a tensor cannot be written, if it cannot.
    fn refuses(&self, tensor: &Planned<'_>) -> Option<String>;

    /// Why no tensor can have this name, if so; `refuses` gives the same reason.
    fn refuses_name(&self, _name: &str) -> Option<String> {
        None
    }

    /// What of a model's metadata it can keep.
    fn holds(&self) -> Holds;

    /// The metadata of a model of these tensors: the given entries, and those that the format
    /// itself requires. Where all tensors are `kept` as they were stored, the entries have them
    /// already.
    fn metadata(&self, entries: Entries, _tensors: &[Planned<'_>], _kept: bool) -> Result<Entries> {
        Ok(entries)
    }

    /// Places tensors in a file.
    fn lay_out(&self, tensors: &[Planned<'_>], context: &FileContext<'_>) -> Result<Layout>;

    /// Whether it states sums of what follows them, so that a file that is sent in parts must be
    /// written front to back, with sums behind the data.
    fn states_sums(&self) -> bool {
        false
    }

    /// Whether a model may be spread over several files.
    fn splits(&self) -> bool {
        false
    }

    /// Whether two names for the same stored numbers are written once, and the other name noted
    /// in the metadata.
    fn ties(&self) -> bool {
        false
    }

    /// What a file in a directory is called; `stem` is the model's own name for itself there.
    fn file_name(&self, stem: &str, (index, count): (usize, usize)) -> String {
        match count {
            1 => format!("{stem}.{}", self.format()),
            _ => format!("{stem}-{:05}-of-{count:05}.{}", index.saturating_add(1), self.format()),
        }
    }

    /// The index of several files, its name and its text, where the format has one. `map` says
    /// which tensor lies in which file.
    fn index(
        &self,
        _stem: &str,
        _map: Vec<(&str, &str)>,
        _bytes: u64,
        _parameters: u64,
    ) -> Option<(String, String)> {
        None
    }

    /// What files in a directory are called when the source does not say.
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

/// An error if two tensors have the same name.
pub(super) fn refuse_duplicates(tensors: &[Planned<'_>]) -> Result<()> {
    match crate::repeated(tensors.iter().map(|tensor| tensor.name)).next() {
        Some(name) => Err(Error::usage("two output tensors have this name").in_tensor(name)),
        None => Ok(()),
    }
}

/// Where a tensor ends that begins at `start`; an error if that is too large.
pub(super) fn end_of(start: u64, tensor: &Planned<'_>) -> Result<u64> {
    start.checked_add(tensor.bytes).ok_or_else(|| {
        Error::limit("the file would exceed the largest size of any file system")
            .in_tensor(tensor.name)
    })
}
