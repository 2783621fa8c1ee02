//! An opened container: its bytes and its catalog.
//!
//! Every tensor is returned in one form: *row-major bytes*, little-endian, outermost dimension
//! first. Bytes that the file stores in this form are borrowed if possible. Other bytes are
//! gathered into the caller's scratch buffer.

use std::collections::HashSet;

use crate::catalog::{Catalog, Run, SummedMember, TensorInfo};
use crate::error::{Error, Result};
use crate::inflate::GoOn;
use crate::input::{Input, range_of};
use crate::limits::Limits;

mod fetch;
mod format;
mod gather;
mod members;
mod row_major;
mod strides;
mod sums;

pub use fetch::{Wanted, fetch_all};
pub use format::{Format, FormatRules};
use members::Members;
use sums::Sums;

/// Equally long, equally spaced pieces of one tensor's row-major bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slab {
    /// Which part of the weight.
    pub part: usize,
    /// Where the first piece starts.
    pub offset: u64,
    /// Length of a piece.
    pub row_bytes: u64,
    /// How many pieces.
    pub count: u64,
    /// From the start of one piece to the start of the next.
    pub stride: u64,
}

impl Slab {
    /// One piece.
    pub fn whole(part: usize, offset: u64, bytes: u64) -> Self {
        Self { part, offset, row_bytes: bytes, count: 1, stride: bytes }
    }
}

/// The bytes of a slab, ready to be read.
#[derive(Clone, Copy, Debug)]
pub struct Staged<'a> {
    bytes: &'a [u8],
    row_bytes: usize,
    stride: usize,
}

impl<'a> Staged<'a> {
    /// Bytes that need no staging, for tests of recipes.
    #[cfg(any(test, feature = "testing"))]
    pub fn over(bytes: &'a [u8]) -> Self {
        Self { bytes, row_bytes: bytes.len(), stride: bytes.len() }
    }

    /// Pieces that lie one behind the other, for tests of recipes.
    #[cfg(any(test, feature = "testing"))]
    pub fn of_rows(bytes: &'a [u8], row_bytes: usize) -> Self {
        Self { bytes, row_bytes, stride: row_bytes }
    }

    /// Pieces that lie apart, for tests of recipes.
    #[cfg(any(test, feature = "testing"))]
    pub fn with_stride(bytes: &'a [u8], row_bytes: usize, stride: usize) -> Self {
        Self { bytes, row_bytes, stride }
    }

    /// Piece `index`; empty if there is no such piece.
    pub fn row(&self, index: usize) -> &'a [u8] {
        let start = index.saturating_mul(self.stride);
        self.bytes.get(start..start.saturating_add(self.row_bytes)).unwrap_or_default()
    }

    /// Piece `index` alone.
    pub fn piece(&self, index: usize) -> Self {
        Self { bytes: self.row(index), row_bytes: self.row_bytes, stride: self.row_bytes }
    }

    /// `row_bytes` bytes of each piece, from the given one and the given byte of it on; the pieces
    /// lie as far apart as these do unless `stride` says otherwise.
    pub fn cut(
        &self,
        [piece, offset]: [u64; 2],
        row_bytes: u64,
        stride: Option<u64>,
    ) -> Option<Self> {
        let start = to_usize(piece).ok()?.checked_mul(self.stride)?;
        let bytes = self.bytes.get(start.checked_add(to_usize(offset).ok()?)?..)?;
        let stride = stride.map_or(Some(self.stride), |stride| to_usize(stride).ok())?;
        Some(Self { bytes, row_bytes: to_usize(row_bytes).ok()?, stride })
    }

    /// All bytes of a slab of one piece.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// The cost of reading tensors out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Any part can be read at any time.
    Random,
    /// Reading in order is cheap; the first step back costs one full read.
    Sequential,
}

/// An opened container.
pub struct Source {
    input: Input,
    catalog: Catalog,
    format: Format,
    limits: Limits,
    members: Members,
    sums: Sums,
}

impl Source {
    /// Creates a source from an input and its catalog.
    #[must_use]
    pub fn new(input: Input, catalog: Catalog, format: Format, limits: Limits) -> Self {
        Self { input, catalog, format, limits, members: Members::default(), sums: Sums::default() }
    }

    /// Returns the input.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Returns the catalog of the header.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Removes tensors from the catalog and returns them; positions must be in order.
    pub fn forget(&mut self, tensors: &[usize]) -> Vec<TensorInfo> {
        let (mut at, mut wanted) = (0, tensors.iter().copied().peekable());
        let is_wanted = |_: &mut TensorInfo| {
            at += 1;
            wanted.next_if_eq(&(at - 1)).is_some()
        };
        self.catalog.tensors.extract_if(.., is_wanted).collect()
    }

    /// Returns the name of the format.
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.format.name
    }

    /// Returns the limits on reading.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the file's length. For a stream not yet read to its end, this is the length that its
    /// header declares.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.input.len().or(self.catalog.declared_len).unwrap_or(0)
    }

    /// Returns the read cost of a tensor.
    #[must_use]
    pub fn access(&self, tensor: &TensorInfo) -> Access {
        match tensor.place.run {
            Run::Inside { .. } => Access::Sequential,
            _ => Access::Random,
        }
    }

    /// Returns the row-major bytes of a tensor, if the file stores them in that form and can lend
    /// them.
    #[must_use]
    pub fn lent_bytes(&self, tensor: &TensorInfo) -> Option<&[u8]> {
        self.check_readable(tensor).ok()?;
        if tensor.bytes == 0 {
            return Some(&[]);
        }
        let (at, len) = (tensor.file_offset()?, usize::try_from(tensor.bytes).ok()?);
        self.input.will_need_stretch(tensor.bytes);
        range_of(self.input.lent()?, at, len)
    }

    /// Returns the bytes of a slab: borrowed if possible, otherwise read into `scratch`.
    pub fn fetch<'a>(
        &'a self,
        tensor: &TensorInfo,
        slab: &Slab,
        scratch: &'a mut Vec<u8>,
    ) -> Result<Staged<'a>> {
        self.stage(tensor, slab, scratch)
            .and_then(|()| self.fetched(tensor, slab, scratch))
            .map_err(|error| self.named(tensor, error))
    }

    /// Reads the bytes of a slab into `scratch`, where they are not lent.
    fn stage(&self, tensor: &TensorInfo, slab: &Slab, scratch: &mut Vec<u8>) -> Result<()> {
        let span = self.check_slab(tensor, slab)?;
        if span == 0 {
            // Nothing is wanted, so it does not matter where it would be.
            return Ok(());
        }
        self.input.will_need_stretch(span);
        if let Some(lent) = self.lent(tensor, slab, span).transpose()? {
            return self.saw_slab(tensor, slab, lent.bytes, lent.stride);
        }
        resize(scratch, slab)?;
        self.read_slab(tensor, slab, scratch)
    }

    /// Reads a slab of a tensor into `out`.
    pub fn copy(&self, tensor: &TensorInfo, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let mut read = || {
            let span = self.check_slab(tensor, slab)?;
            if span == 0 {
                return Ok(());
            }
            self.input.will_need_stretch(span);
            self.read_slab(tensor, slab, out)
        };
        read().map_err(|error| self.named(tensor, error))
    }

    /// How far a slab reaches; an error unless it is one of the tensor's, which can be read.
    fn check_slab(&self, tensor: &TensorInfo, slab: &Slab) -> Result<u64> {
        self.check_readable(tensor)?;
        let span = span_of(slab)
            .filter(|span| slab.offset.checked_add(*span).is_some_and(|end| end <= tensor.bytes))
            .ok_or_else(|| {
                Error::usage(format!("{slab:?} is outside the tensor's {} bytes", tensor.bytes))
            })?;
        match tensor.place.run {
            Run::At(offset) if span > 0 => self.sums.touch(&self.catalog, &self.input, offset)?,
            _ => {}
        }
        Ok(span)
    }

    /// Takes account of the pieces of a slab, as the file has them: `stride` bytes from one to the
    /// next.
    fn saw_slab(
        &self,
        tensor: &TensorInfo,
        slab: &Slab,
        bytes: &[u8],
        stride: usize,
    ) -> Result<()> {
        let (Run::At(base), false) = (tensor.place.run, self.catalog.summed.is_empty()) else {
            return Ok(());
        };
        let (first, row_bytes) = (base.saturating_add(slab.offset), to_usize(slab.row_bytes)?);
        if slab.stride == slab.row_bytes || slab.count == 1 {
            return self.sums.saw(&self.catalog, &self.input, first, bytes);
        }
        (0..slab.count).zip(bytes.chunks(stride.max(1))).try_for_each(|(row, bytes)| {
            let at = first.saturating_add(row.saturating_mul(slab.stride));
            self.sums.saw(&self.catalog, &self.input, at, &bytes[..row_bytes.min(bytes.len())])
        })
    }

    /// Returns an error if an archive member read so far does not match its checksum. Unread parts
    /// of these members are read now; `go_on` is polled regularly and can stop this.
    pub fn check_sums(&self, go_on: GoOn<'_>) -> Result<()> {
        self.check_sums_where(&|_| true, &|_| true, go_on)
    }

    /// Verifies the checksums of only the members that contain these tensors.
    pub fn check_sums_of<'a>(
        &self,
        tensors: impl Iterator<Item = &'a TensorInfo>,
        go_on: GoOn<'_>,
    ) -> Result<()> {
        let mut starts = Vec::new();
        let mut inside = HashSet::with_hasher(foldhash::fast::RandomState::default());
        for tensor in tensors {
            match tensor.place.run {
                Run::At(at) => starts.push(at),
                Run::Inside { member, .. } => drop(inside.insert(member as usize)),
                _ => {}
            }
        }
        starts.sort_unstable();
        let wants_stored = |member: SummedMember| {
            let next = starts.partition_point(|&at| at < member.offset);
            starts.get(next).is_some_and(|at| at - member.offset < member.len)
        };
        self.check_sums_where(&wants_stored, &|index| inside.contains(&index), go_on)
    }

    fn check_sums_where(
        &self,
        wants_stored: &dyn Fn(SummedMember) -> bool,
        wants_packed: &dyn Fn(usize) -> bool,
        go_on: GoOn<'_>,
    ) -> Result<()> {
        let in_tensor = |error: Error, is_inside: &dyn Fn(Run) -> bool| {
            let mut tensors = self.catalog.tensors.iter();
            let first = tensors.find(|tensor| is_inside(tensor.place.run));
            first.into_iter().fold(error, |error, tensor| error.in_tensor(&tensor.name))
        };
        let stored = self.sums.finish(&self.input, wants_stored, go_on);
        let stored = stored.map_err(|(member, error)| {
            let inside = |at: u64| at >= member.offset && at - member.offset < member.len;
            in_tensor(error, &|run| matches!(run, Run::At(at) if inside(at)))
        });
        let packed = || {
            let members = &self.catalog.members;
            let checked = self.members.finish(&self.input, members, wants_packed, go_on);
            checked.map_err(|(index, error)| {
                let is_it = |member: u32| member as usize == index;
                in_tensor(error, &|run| matches!(run, Run::Inside { member, .. } if is_it(member)))
            })
        };
        stored.and_then(|()| packed()).map_err(|error| error.in_file(self.input.name()))
    }

    /// The slab as it lies in memory, where the whole file does.
    fn lent<'a>(
        &'a self,
        tensor: &TensorInfo,
        slab: &Slab,
        span: u64,
    ) -> Option<Result<Staged<'a>>> {
        let (base, all) = tensor.file_offset().zip(self.input.lent())?;
        let bytes = || {
            let start = to_usize(base.saturating_add(slab.offset))?;
            let end = start.saturating_add(to_usize(span)?);
            let bytes = all.get(start..end).ok_or_else(|| self.missing(tensor))?;
            let (row_bytes, stride) = (to_usize(slab.row_bytes)?, to_usize(slab.stride)?);
            Ok(Staged { bytes, row_bytes, stride })
        };
        Some(bytes())
    }

    /// A slab that was [fetched](Self::fetch) into `scratch` before.
    pub fn fetched<'a>(
        &'a self,
        tensor: &TensorInfo,
        slab: &Slab,
        scratch: &'a [u8],
    ) -> Result<Staged<'a>> {
        let row_bytes = to_usize(slab.row_bytes)?;
        let kept = Staged { bytes: scratch, row_bytes, stride: row_bytes };
        match span_of(slab) {
            None | Some(0) => Ok(Staged { bytes: &[], stride: to_usize(slab.stride)?, ..kept }),
            Some(span) => self.lent(tensor, slab, span).unwrap_or(Ok(kept)),
        }
    }

    /// An error for a tensor that is not to be read.
    pub fn check_readable(&self, tensor: &TensorInfo) -> Result<()> {
        if let Some(reason) = &self.catalog.unsafe_to_read {
            return Err(Error::unsupported(reason.clone()).in_file(self.input.name()));
        }
        match &tensor.refused {
            Some(reason) => Err(Error::unsupported(reason.to_string()).in_tensor(&tensor.name)),
            None => Ok(()),
        }
    }

    /// An error that says where it was.
    fn named(&self, tensor: &TensorInfo, error: Error) -> Error {
        error.in_tensor(&tensor.name).in_file(self.input.name())
    }

    fn missing(&self, tensor: &TensorInfo) -> Error {
        Error::malformed(format!(
            "the tensor's {} bytes are incomplete: the file has {} bytes",
            tensor.bytes,
            self.file_bytes()
        ))
        .hint("the file is truncated; fetch it again")
    }
}

/// Makes a buffer as long as a slab.
fn resize(buffer: &mut Vec<u8>, slab: &Slab) -> Result<()> {
    let total = to_usize(slab.row_bytes.saturating_mul(slab.count))?;
    if buffer.try_reserve_exact(total.saturating_sub(buffer.len())).is_err() {
        return Err(Error::limit(format!("not enough memory for {total} bytes")));
    }
    buffer.resize(total, 0);
    Ok(())
}

fn to_usize(value: u64) -> Result<usize> {
    usize::try_from(value)
        .map_err(|_| Error::limit("the size exceeds this machine's address space"))
}

fn span_of(slab: &Slab) -> Option<u64> {
    match slab.count {
        0 => Some(0),
        count => (count - 1).checked_mul(slab.stride)?.checked_add(slab.row_bytes),
    }
}

#[cfg(test)]
mod tests;
